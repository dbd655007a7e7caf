#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include <infeed/pipeline/chunk.h>
#include <infeed/pipeline/reservation.h>

#include "engine/recording/place_log.h"
#include "engine/seeds/signature.h"

namespace infeed::detail {

/// The content of a memory cache: elements in blocks, and errors with their positions. One thread
/// appends. Then it is shared and never changes, and any number of threads may read.
class CachedElements {
 public:
  explicit CachedElements(const TypeInfo& type);
  ~CachedElements();
  CachedElements(const CachedElements&) = delete;
  CachedElements& operator=(const CachedElements&) = delete;

  /// Number of elements, errors included.
  std::uint64_t slots() const { return values_ + errors_.size(); }
  bool has_errors() const { return !errors_.empty(); }
  /// Number of errors seen while the elements were made. It includes errors that aren't among the
  /// elements because another stage left them out.
  std::uint64_t errors_on_the_way() const { return errors_on_the_way_; }
  void note_errors_on_the_way(std::uint64_t errors) { errors_on_the_way_ = errors; }
  const InnerDraws& inner_draws() const { return inner_draws_; }
  void note_inner_draws(InnerDraws draws) { inner_draws_ = std::move(draws); }
  /// The records that the elements were made of, as far as a recording iterator noted them.
  PlaceLog& places() { return places_; }
  const PlaceLog& places() const { return places_; }
  /// Bytes in memory, payload included.
  std::uint64_t bytes() const { return bytes_; }

  /// Copies the elements of `chunk`, and first reserves room for them in `memory`. Throws the
  /// exceptions of a copy. Throws Error(resource_exhausted) after the last element that there was
  /// room for, however many come at once. After an exception the content is useless.
  void append(const Chunk& chunk, Reservation& memory);

  /// Appends copies of up to `want` elements from `position` on to `out`, which is empty. Returns
  /// how many it appended (0: the end).
  std::uint64_t read(std::uint64_t position, Chunk& out, std::size_t want) const;

 private:
  struct Block {
    std::byte* data;
    std::size_t capacity;
  };
  struct ErrorSlot {
    std::uint64_t position;
    ErrorPointer error;
  };

  std::byte* value(std::uint64_t index) const {
    return blocks_[index / values_per_block_].data + index % values_per_block_ * type_.size;
  }
  std::size_t room() const;
  void add_room(Reservation& memory);
  void count(Reservation& memory, std::uint64_t bytes);

  const TypeInfo& type_;
  const std::size_t values_per_block_;
  std::vector<Block> blocks_;  ///< all of values_per_block_, except a single one
  std::uint64_t values_ = 0;
  std::vector<ErrorSlot> errors_;
  std::uint64_t errors_on_the_way_ = 0;
  InnerDraws inner_draws_;
  std::uint64_t bytes_ = 0;
  PlaceLog places_;
};

}  // namespace infeed::detail
