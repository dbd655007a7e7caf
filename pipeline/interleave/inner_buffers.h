#pragma once

#include <cstdint>
#include <vector>

#include <infeed/pipeline/chunk.h>
#include <infeed/pipeline/detail/held_bytes.h>

#include "engine/iterator_context.h"
#include "interleave/cycle_ahead.h"

namespace infeed::detail {

/// The elements that threads have read ahead of all inner datasets together, and their memory. It
/// is reserved before a read, and from then on held with the chunk.
///
/// Thread-safety: none; the hand-off's lock guards it.
class InnerBuffers {
 public:
  /// The most elements that a read may bring; 0 if there is no memory.
  struct Grant {
    std::size_t want = 0;
    HeldBytes held;
  };

  InnerBuffers(IteratorContext& run, StageCounters& counters, const TypeInfo& type)
      : run_(run), counters_(counters), type_(type) {}

  Grant reserve(const InnerReadAhead& inner);
  /// Returns how many elements may be read without a reservation, for a consumer that waits for
  /// just these: one page, or one element.
  std::size_t elements_when_short() const;
  /// Returns the bytes that the elements of a read take once they are ready.
  std::uint64_t bytes_when_ready(const Chunk& chunk) const;
  /// Adds the elements of a read, maybe none, to the ready ones. Empties the chunk.
  void add(InnerReadAhead& inner, Chunk& chunk, InnerPlaces places);
  /// Hands the next chunk over, and keeps `out` for reuse.
  void take(InnerReadAhead& inner, Chunk& out);
  /// Drops the ready elements, which nobody needs any more.
  void drop(InnerReadAhead& inner);
  Chunk take_spare();
  void give_spare(Chunk chunk);

 private:
  std::uint64_t bytes_each() const;
  void publish_level() { counters_.buffered.set(elements_, bytes_); }

  IteratorContext& run_;
  StageCounters& counters_;
  const TypeInfo& type_;
  std::vector<Chunk> spare_;
  std::uint64_t elements_ = 0;
  std::uint64_t bytes_ = 0;
  std::uint64_t bytes_per_element_ = 0;  ///< smoothed; 0: no element was seen yet
};

}  // namespace infeed::detail
