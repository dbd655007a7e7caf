#include "interleave/cycle_history.h"

#include <algorithm>
#include <utility>

namespace infeed::detail {

void CycleHistory::add(std::uint64_t position, std::uint64_t count, Turn turn) {
  const std::lock_guard lock(mutex_);
  if (entries_.size() == kEntriesMax) entries_.pop_front();
  entries_.push_back({position, count, std::move(turn)});
}

TracedPlace CycleHistory::find(std::uint64_t position) const {
  const std::lock_guard lock(mutex_);
  const auto behind = std::upper_bound(
      entries_.begin(), entries_.end(), position,
      [](std::uint64_t wanted, const Entry& entry) { return wanted < entry.position; });
  if (behind != entries_.begin()) {
    const Entry& entry = *std::prev(behind);
    if (position - entry.position < entry.count) return place_in(entry, position);
  }
  return TracedPlace::unknown("it lies too far back");
}

/// Each slot gives up to a block in its turn; all slots of the hand-over had what they gave.
TracedPlace CycleHistory::place_in(const Entry& entry, std::uint64_t position) const {
  std::size_t at = entry.turn.at;
  std::uint64_t block_left = entry.turn.block_left;
  std::vector<std::uint64_t> given(entry.turn.slots.size(), 0);
  std::uint64_t left = position - entry.position;
  while (left >= block_left) {
    left -= block_left;
    given[at] += block_left;
    block_left = block_length_;
    at = at + 1 == given.size() ? 0 : at + 1;
  }
  const Slot& slot = entry.turn.slots[at];
  TracedPlace traced = slot.places.first;
  if (traced.place && slot.places.are_neighbours) {
    traced.place->record += slot.taken + given[at] + left;
    traced.place->offset.reset();
  }
  return traced;
}

}  // namespace infeed::detail
