#include "interleave/cycle_history.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace infeed::detail {

TracedPlace InnerPlaces::at(std::uint64_t taken) const {
  if (!first.place || taken == 0) return first;
  if (!are_neighbours)
    return TracedPlace::unknown(
        "the records that its inner dataset gave with it are no neighbours");
  TracedPlace traced = first;
  traced.place->record += taken * traced.place->count;
  traced.place->offset.reset();
  return traced;
}

bool InnerPlaces::follow(const InnerPlaces& before, std::uint64_t taken) const {
  if (!first.place || !before.first.place || !are_neighbours || !before.are_neighbours)
    return false;
  const RecordPlace& begin = *before.first.place;
  return first.place->count == 1 && begin.count == 1 && first.place->file == begin.file &&
         first.place->record == begin.record + taken;
}

void CycleHistory::add(const Turn& turn) {
  if (goes_on(turn)) {
    last_.count += turn.count;
    return turns_.set_last(1, last_.count);
  }
  last_ = turn;
  turns_.push({turn.position, turn.count, turn.at, turn.block_left, turn.slots});
}

/// True if the turn begins where the last one ended: at the same place, of the same slots.
bool CycleHistory::goes_on(const Turn& turn) const {
  if (last_.count == 0 || turn.slots != last_.slots || turn.position != end_position())
    return false;
  if (last_.count < last_.block_left)
    return turn.at == last_.at && turn.block_left == last_.block_left - last_.count;
  const std::uint64_t behind = last_.count - last_.block_left;
  return turn.at == slot_of(last_, last_.count) &&
         turn.block_left == block_length_ - behind % block_length_;
}

std::optional<CycleHistory::Turn> CycleHistory::turn(std::uint64_t number) const {
  const auto numbers = turns_.at(number);
  if (!numbers) return std::nullopt;
  const auto& [position, count, at, block_left, slots] = *numbers;
  return Turn{position, count, at, block_left, slots};
}

void CycleHistory::refill(std::size_t slot, InnerPlaces places) {
  const std::lock_guard lock(mutex_);
  const Refill* const last = count_given(slot);
  if (kept_ == KeptPlaces::of_pulls && last != nullptr && turns_.end() - last->turns < kTurnsMax &&
      places.follow(last->places, last->taken + last->given)) {
    return;
  }
  add_refill(slot, {end_position(), turns_.end(), 0, std::move(places)});
}

void CycleHistory::drop(std::size_t slot, std::uint64_t count) {
  const std::lock_guard lock(mutex_);
  const Refill* const last = count_given(slot);
  if (last == nullptr) return;
  const std::uint64_t taken = last->taken + last->given + count;
  add_refill(slot, {end_position(), turns_.end(), taken, last->places});
}

/// Returns the slot's last refill, with what it has given by now; null: there is none, or it isn't
/// known any more.
CycleHistory::Refill* CycleHistory::count_given(std::size_t slot) {
  if (slot >= slots_.size() || slots_[slot].empty()) return nullptr;
  Refill& last = slots_[slot].back();
  const auto more = given_between(last.counted_to, end_position(), slot);
  if (!more) return nullptr;
  last.given += *more;
  last.counted_to = end_position();
  return &last;
}

/// Returns how many of the elements from position `begin` to `end` the slot gave. Nothing if some
/// of their turns were overwritten.
std::optional<std::uint64_t> CycleHistory::given_between(std::uint64_t begin, std::uint64_t end,
                                                         std::uint64_t slot) const {
  const std::uint64_t turns = turns_.end();
  const auto first = turns_.last_up_to(begin, turns);
  if (!first && turns_.first() > 0) return std::nullopt;
  std::uint64_t all = 0;
  for (std::uint64_t i = first.value_or(0); i < turns; ++i) {
    const auto one = turn(i);
    if (!one) return std::nullopt;
    if (one->position >= end) break;
    const auto before = [&](std::uint64_t position) {
      const std::uint64_t behind = position - std::min(position, one->position);
      return given(*one, slot, std::min(behind, one->count));
    };
    all += before(end) - before(begin);
  }
  return all;
}

void CycleHistory::add_refill(std::size_t slot, Refill refill) {
  if (slot >= slots_.size()) slots_.resize(slot + 1);
  Refills& refills = slots_[slot];
  refills.push_back(std::move(refill));
  const std::size_t most = kept_ == KeptPlaces::of_each
                               ? std::max(kRefillsMax, kRefillsOfEachMax / slots_.size())
                               : kRefillsMax;
  while (refills.size() > most) refills.pop_front();
}

TracedPlace CycleHistory::find(std::uint64_t position) const {
  const auto too_far = [] { return TracedPlace::unknown("it lies too far back"); };
  const std::lock_guard lock(mutex_);
  const auto number = turns_.last_up_to(position, turns_.end());
  const auto found = number ? turn(*number) : std::nullopt;
  if (!found || position - found->position >= found->count) return too_far();
  const std::uint64_t slot = slot_of(*found, position - found->position);
  const Refill* const refill = refill_before(static_cast<std::size_t>(slot), position);
  if (refill == nullptr) return too_far();
  if (!refill->places.first.place) return refill->places.first;
  const auto before = given_between(refill->position, position, slot);
  if (!before) return too_far();
  return refill->places.at(refill->taken + *before);
}

/// Returns the last refill of the slot before this element was handed over.
const CycleHistory::Refill* CycleHistory::refill_before(std::size_t slot,
                                                        std::uint64_t position) const {
  if (slot >= slots_.size()) return nullptr;
  const Refills& refills = slots_[slot];
  const auto behind = std::partition_point(
      refills.begin(), refills.end(),
      [position](const Refill& refill) { return refill.position <= position; });
  return behind == refills.begin() ? nullptr : &*std::prev(behind);
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
