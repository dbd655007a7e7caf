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
  const std::lock_guard lock(mutex_);
  if (turns_.size() < kTurnsMax) {
    turns_.push_back(turn);
  } else {
    turns_[count_ % kTurnsMax] = turn;
  }
  ++count_;
}

void CycleHistory::refill(std::size_t slot, InnerPlaces places) {
  const std::lock_guard lock(mutex_);
  add_refill(slot, {count_, 0, std::move(places)});
}

void CycleHistory::drop(std::size_t slot, std::uint64_t count) {
  const std::lock_guard lock(mutex_);
  const Refill* const last = refill_before(slot, count_);
  if (last == nullptr) return;
  Refill rest = *last;
  for (std::uint64_t i = std::max(last->turns, first_turn()); i < count_; ++i)
    rest.taken += given(turn(i), slot, turn(i).count);
  rest.taken += count;
  rest.turns = count_;
  add_refill(slot, std::move(rest));
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
  const auto number = turn_of(position);
  if (!number) return too_far();
  const std::uint64_t index = position - turn(*number).position;
  const std::uint64_t slot = slot_of(turn(*number), index);
  const Refill* const refill = refill_before(static_cast<std::size_t>(slot), *number);
  if (refill == nullptr || refill->turns < first_turn()) return too_far();
  std::uint64_t taken = refill->taken + given(turn(*number), slot, index);
  for (std::uint64_t i = refill->turns; i < *number; ++i)
    taken += given(turn(i), slot, turn(i).count);
  return refill->places.at(taken);
}

std::optional<std::uint64_t> CycleHistory::turn_of(std::uint64_t position) const {
  std::uint64_t low = first_turn();
  std::uint64_t high = count_;
  while (low < high) {
    const std::uint64_t middle = low + (high - low) / 2;
    if (turn(middle).position > position) {
      high = middle;
    } else {
      low = middle + 1;
    }
  }
  if (low == first_turn()) return std::nullopt;
  const Turn& found = turn(low - 1);
  if (position - found.position >= found.count) return std::nullopt;
  return low - 1;
}

/// The last one of the slot before this turn.
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

/// By the slot, of the first so many elements of the turn: what was left of the first block, then
/// whole blocks of all slots in turn, the last of which may be cut short.
std::uint64_t CycleHistory::given(const Turn& turn, std::uint64_t slot, std::uint64_t first) const {
  const std::uint64_t distance = (slot + turn.slots - turn.at) % turn.slots;
  if (first <= turn.block_left) return distance == 0 ? first : 0;
  const std::uint64_t left = first - turn.block_left;
  const std::uint64_t whole = left / block_length_;  // block 0 is the one that was begun
  const std::uint64_t rounds =
      distance == 0 ? whole / turn.slots : (whole + turn.slots - distance) / turn.slots;
  const bool has_rest = (whole + 1) % turn.slots == distance % turn.slots;
  return (distance == 0 ? turn.block_left : 0) + rounds * block_length_ +
         (has_rest ? left % block_length_ : 0);
}

}  // namespace infeed::detail
