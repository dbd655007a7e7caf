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

/// The content of a memory cache: elements in blocks, errors with their positions beside them.
///
/// Appended to by one thread, then shared and never changed again; then any number may read.
class CachedElements {
 public:
  explicit CachedElements(const TypeInfo& type);
  ~CachedElements();
  CachedElements(const CachedElements&) = delete;
  CachedElements& operator=(const CachedElements&) = delete;

  /// Elements, errors included.
  std::uint64_t slots() const { return values_ + errors_.size(); }
  bool has_errors() const { return !errors_.empty(); }
  /// Errors that were seen while the elements were made, those that are not among them (another
  /// stage left them out) included.
  std::uint64_t errors_on_the_way() const { return errors_on_the_way_; }
  void note_errors_on_the_way(std::uint64_t errors) { errors_on_the_way_ = errors; }
  const InnerDraws& inner_draws() const { return inner_draws_; }
  void note_inner_draws(InnerDraws draws) { inner_draws_ = std::move(draws); }
  /// Which records they were made of, as far as an iterator that recorded has written it down.
  PlaceLog& places() { return places_; }
  const PlaceLog& places() const { return places_; }
  /// What it holds in memory, payload included.
  std::uint64_t bytes() const { return bytes_; }

  /// Copies what `chunk` holds; room for it is first reserved in `memory`. Throws what a copy throws, and
  /// Error(resource_exhausted) behind the last element that there was room for, however many come at
  /// once; the content is then of no use any more.
  void append(const Chunk& chunk, Reservation& memory);

  /// Appends copies of up to `want` elements from `position` on to `out`, which is empty; returns
  /// how many there were (0: the end).
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
  std::vector<Block> blocks_;  ///< all of values_per_block_, but a single one
  std::uint64_t values_ = 0;
  std::vector<ErrorSlot> errors_;
  std::uint64_t errors_on_the_way_ = 0;
  InnerDraws inner_draws_;
  std::uint64_t bytes_ = 0;
  PlaceLog places_;
};

}  // namespace infeed::detail
