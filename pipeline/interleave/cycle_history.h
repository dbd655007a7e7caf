#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <mutex>
#include <optional>
#include <vector>

#include <infeed/pipeline/traced_place.h>

#include "engine/recording/number_ring.h"

namespace infeed::detail {

/// The places of neighbouring elements that an inner dataset gave in one pull.
struct InnerPlaces {
  TracedPlace first;
  bool are_neighbours = false;  ///< their records are neighbours; otherwise only the first is known

  /// Returns the place of the element after `taken` others.
  TracedPlace at(std::uint64_t taken) const;
  /// True if these records follow the first `taken` of `before` in their file.
  bool follow(const InnerPlaces& before, std::uint64_t taken) const;
};

/// The places that an interleave keeps: none, those that a recording asks for (of a pull the first with its
/// offset, and refills that go on share an entry), or each element's with its offset.
enum class KeptPlaces : std::uint8_t { none, of_pulls, of_each };

/// The recent hand-overs of an interleave that records: whose turn it was at each hand-over, and
/// where a slot's elements came from when it was refilled. A hand-over writes five numbers. The
/// reader computes from them what each slot had given by then. Hand-overs that go on where the last
/// one ended share an entry, and so do refills: a shuffle behind it keeps some elements for ten
/// times its buffer.
///
/// Invariants: only the interleave's thread adds. mutex_ guards slots_; last_ is the writer's own.
/// Turns are in the order of positions.
class CycleHistory {
 public:
  CycleHistory(std::uint64_t block_length, KeptPlaces kept)
      : block_length_(block_length), kept_(kept) {}

  /// A hand-over of `count` elements; the first one has this position. They came from `slots` slots
  /// in turn, from slot `at` on, which had `block_left` elements left to give.
  struct Turn {
    std::uint64_t position;
    std::uint64_t count;
    std::uint64_t at;
    std::uint64_t block_left;
    std::uint64_t slots;
  };
  void add(const Turn& turn);

  /// Sets the places of the elements that the slot gives from now on.
  void refill(std::size_t slot, InnerPlaces places);
  /// Says that the next `count` elements of the slot's last refill will never be handed over.
  void drop(std::size_t slot, std::uint64_t count);

  TracedPlace find(std::uint64_t position) const;

 private:
  struct Refill {
    std::uint64_t position;  ///< elements handed over before it
    std::uint64_t turns;     ///< entries of hand-overs before it
    std::uint64_t taken;     ///< places used up before it
    InnerPlaces places;
    // Elements that its slot gave behind it, as far as they were counted.
    std::uint64_t given = 0;
    std::uint64_t counted_to = position;
  };
  /// The last refills of a slot. Each slot has its own, so that one which is refilled often doesn't push
  /// out the others' refills.
  using Refills = std::deque<Refill>;
  static constexpr std::size_t kRefillsMax = 32;
  // All slots together, where each element is one: as many as a source keeps, for a shuffle behind it.
  static constexpr std::size_t kRefillsOfEachMax = std::size_t{1} << 16;
  // A refill behind more entries of hand-overs gets its own, before the ring writes over them.
  static constexpr std::uint64_t kTurnsMax = 1024;

  std::optional<Turn> turn(std::uint64_t number) const;
  bool goes_on(const Turn& turn) const;
  std::uint64_t end_position() const { return last_.position + last_.count; }
  std::optional<std::uint64_t> given_between(std::uint64_t begin, std::uint64_t end,
                                             std::uint64_t slot) const;
  Refill* count_given(std::size_t slot);
  const Refill* refill_before(std::size_t slot, std::uint64_t position) const;
  std::uint64_t slot_of(const Turn& turn, std::uint64_t index) const;
  std::uint64_t given(const Turn& turn, std::uint64_t slot, std::uint64_t first) const;
  void add_refill(std::size_t slot, Refill refill);

  const std::uint64_t block_length_;
  const KeptPlaces kept_;
  NumberRing<5, 4096> turns_;  ///< at most 160 KiB
  Turn last_{};                ///< the last entry of turns_
  mutable std::mutex mutex_;
  std::vector<Refills> slots_;
};

}  // namespace infeed::detail
