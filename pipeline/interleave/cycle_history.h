#pragma once

#include <cstdint>
#include <deque>
#include <mutex>
#include <vector>

#include <infeed/pipeline/traced_place.h>

namespace infeed::detail {

/// Where the neighbouring elements that an inner dataset gave in one go come from.
struct InnerPlaces {
  TracedPlace first;
  bool are_neighbours = false;  ///< so are their records; else all that is known is the first
};

/// What an interleave that records has handed over, as far as it looks back: for each hand-over
/// whose turn it was, and what each slot would give next. From that on it is arithmetic.
///
/// Invariants: entries_ is guarded by mutex_, and in the order of positions.
class CycleHistory {
 public:
  explicit CycleHistory(std::uint64_t block_length) : block_length_(block_length) {}

  /// What a slot gives next: element `taken` of what those places are of.
  struct Slot {
    InnerPlaces places;
    std::uint64_t taken = 0;
  };
  struct Turn {
    std::size_t at = 0;
    std::uint64_t block_left = 0;
    std::vector<Slot> slots = {};
  };

  /// From this turn on `count` elements were handed over, of which the first has `position`.
  void add(std::uint64_t position, std::uint64_t count, Turn turn);
  TracedPlace find(std::uint64_t position) const;

 private:
  struct Entry {
    std::uint64_t position;
    std::uint64_t count;
    Turn turn;
  };
  static constexpr std::size_t kEntriesMax = 512;

  TracedPlace place_in(const Entry& entry, std::uint64_t position) const;

  const std::uint64_t block_length_;
  mutable std::mutex mutex_;
  std::deque<Entry> entries_;
};

}  // namespace infeed::detail
