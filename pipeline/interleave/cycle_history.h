#pragma once

#include <cstdint>
#include <mutex>
#include <optional>
#include <vector>

#include <infeed/pipeline/traced_place.h>

#include "engine/recording/number_ring.h"

namespace infeed::detail {

/// Where the neighbouring elements that an inner dataset gave in one go come from.
struct InnerPlaces {
  TracedPlace first;
  bool are_neighbours = false;  ///< so are their records; else all that is known is the first

  /// Of the element behind so many of them.
  TracedPlace at(std::uint64_t taken) const;
};

/// What an interleave that records has handed over, as far as it looks back: whose turn it was at
/// each hand-over, and where a slot's elements came from when it was refilled. A hand-over writes
/// five numbers; what each slot had given by then is arithmetic, left to who asks.
///
/// Invariants: the interleave's thread alone adds; slots_ is guarded by mutex_; turns are in the order
/// of positions.
class CycleHistory {
 public:
  explicit CycleHistory(std::uint64_t block_length) : block_length_(block_length) {}

  /// `count` elements were handed over, the first of which has this position. They came from
  /// `slots` slots in turn, from slot `at` on, which had `block_left` to give.
  struct Turn {
    std::uint64_t position;
    std::uint64_t count;
    std::uint64_t at;
    std::uint64_t block_left;
    std::uint64_t slots;
  };
  void add(const Turn& turn);

  /// What the slot gives from now on.
  void refill(std::size_t slot, InnerPlaces places);
  /// The next `count` elements that it was refilled with will never be handed over.
  void drop(std::size_t slot, std::uint64_t count);

  TracedPlace find(std::uint64_t position) const;

 private:
  struct Refill {
    std::uint64_t turns;  ///< before it
    std::uint64_t taken;  ///< of the places, before it
    InnerPlaces places;
  };
  /// The last ones of a slot: a ring, so that a slot which is refilled often costs the others
  /// nothing.
  struct Refills {
    std::vector<Refill> ring;
    std::uint64_t count = 0;
  };
  static constexpr std::size_t kRefillsMax = 32;

  std::optional<Turn> turn(std::uint64_t number) const;
  std::optional<std::uint64_t> given_between(std::uint64_t first, std::uint64_t end,
                                             std::uint64_t slot) const;
  const Refill* refill_before(std::size_t slot, std::uint64_t turn) const;
  std::uint64_t slot_of(const Turn& turn, std::uint64_t index) const;
  std::uint64_t given(const Turn& turn, std::uint64_t slot, std::uint64_t first) const;
  void add_refill(std::size_t slot, Refill refill);

  const std::uint64_t block_length_;
  NumberRing<5, 4096> turns_;  ///< 160 KiB
  mutable std::mutex mutex_;
  std::vector<Refills> slots_;
};

}  // namespace infeed::detail
