#include "interleave/cycle_history.h"

#include <algorithm>
#include <utility>

namespace infeed::detail {

TracedPlace InnerPlaces::at(std::uint64_t taken) const {
  TracedPlace traced = first;
  if (traced.place && are_neighbours && taken > 0) {
    traced.place->record += taken;
    traced.place->offset.reset();
  }
  return traced;
}

void CycleHistory::add(const Turn& turn) {
  turns_.push({turn.position, turn.count, turn.at, turn.block_left, turn.slots});
}

std::optional<CycleHistory::Turn> CycleHistory::turn(std::uint64_t number) const {
  const auto numbers = turns_.at(number);
  if (!numbers) return std::nullopt;
  const auto& [position, count, at, block_left, slots] = *numbers;
  return Turn{position, count, at, block_left, slots};
}

void CycleHistory::refill(std::size_t slot, InnerPlaces places) {
  const std::lock_guard lock(mutex_);
  add_refill(slot, {turns_.end(), 0, std::move(places)});
}

void CycleHistory::drop(std::size_t slot, std::uint64_t count) {
  const std::lock_guard lock(mutex_);
  const std::uint64_t end = turns_.end();
  const Refill* const last = refill_before(slot, end);
  if (last == nullptr) return;
  Refill rest = *last;
  rest.taken += given_between(std::max(last->turns, turns_.first()), end, slot).value_or(0) + count;
  rest.turns = end;
  add_refill(slot, std::move(rest));
}

/// Returns nothing if some of these turns were overwritten.
std::optional<std::uint64_t> CycleHistory::given_between(std::uint64_t first, std::uint64_t end,
                                                         std::uint64_t slot) const {
  std::uint64_t all = 0;
  for (std::uint64_t i = first; i < end; ++i) {
    const auto one = turn(i);
    if (!one) return std::nullopt;
    all += given(*one, slot, one->count);
  }
  return all;
}

void CycleHistory::add_refill(std::size_t slot, Refill refill) {
  if (slot >= slots_.size()) slots_.resize(slot + 1);
  Refills& refills = slots_[slot];
  if (refills.ring.size() < kRefillsMax) {
    refills.ring.push_back(std::move(refill));
  } else {
    refills.ring[refills.count % kRefillsMax] = std::move(refill);
  }
  ++refills.count;
}

TracedPlace CycleHistory::find(std::uint64_t position) const {
  const auto too_far = [] { return TracedPlace::unknown("it lies too far back"); };
  const std::lock_guard lock(mutex_);
  const auto number = turns_.last_up_to(position, turns_.end());
  const auto found = number ? turn(*number) : std::nullopt;
  if (!found || position - found->position >= found->count) return too_far();
  const std::uint64_t index = position - found->position;
  const std::uint64_t slot = slot_of(*found, index);
  const Refill* const refill = refill_before(static_cast<std::size_t>(slot), *number);
  if (refill == nullptr) return too_far();
  if (!refill->places.first.place) return refill->places.first;
  const auto before = given_between(refill->turns, *number, slot);
  if (!before) return too_far();
  return refill->places.at(refill->taken + *before + given(*found, slot, index));
}

/// Returns the last refill of the slot before this turn.
const CycleHistory::Refill* CycleHistory::refill_before(std::size_t slot,
                                                        std::uint64_t turn) const {
  if (slot >= slots_.size()) return nullptr;
  const Refills& refills = slots_[slot];
  for (std::uint64_t back = 1; back <= refills.ring.size(); ++back) {
    const Refill& refill = refills.ring[(refills.count - back) % kRefillsMax];
    if (refill.turns <= turn) return &refill;
  }
  return nullptr;
}

std::uint64_t CycleHistory::slot_of(const Turn& turn, std::uint64_t index) const {
  if (index < turn.block_left) return turn.at;
  const std::uint64_t blocks = (index - turn.block_left) / block_length_ + 1;
  return (turn.at + blocks) % turn.slots;
}

/// Returns how many of the first `first` elements of the turn the slot gave: the rest of the first
/// block, then whole blocks of all slots in turn. The last block may be cut short.
std::uint64_t CycleHistory::given(const Turn& turn, std::uint64_t slot, std::uint64_t first) const {
  const std::uint64_t distance = (slot + turn.slots - turn.at) % turn.slots;
  if (first <= turn.block_left) return distance == 0 ? first : 0;
  const std::uint64_t left = first - turn.block_left;
  const std::uint64_t whole = left / block_length_;  // block 0 is the first block, already begun
  const std::uint64_t rounds =
      distance == 0 ? whole / turn.slots : (whole + turn.slots - distance) / turn.slots;
  const bool has_rest = (whole + 1) % turn.slots == distance % turn.slots;
  return (distance == 0 ? turn.block_left : 0) + rounds * block_length_ +
         (has_rest ? left % block_length_ : 0);
}

}  // namespace infeed::detail
