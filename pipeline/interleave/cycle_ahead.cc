#include "interleave/cycle_ahead.h"

#include <algorithm>
#include <utility>

namespace infeed::detail {

void CycleAhead::place(std::size_t slot, std::unique_ptr<InnerReadAhead> inner) {
  if (cycle_.size() <= slot) cycle_.resize(slot + 1);
  cycle_[slot] = std::move(inner);
  ++open_in_cycle_;
}

std::unique_ptr<InnerReadAhead> CycleAhead::take(std::size_t slot) {
  --open_in_cycle_;
  return std::move(cycle_[slot]);
}

std::unique_ptr<InnerReadAhead> CycleAhead::take_opened() {
  const auto limit = ordered_ && !pending_.empty() ? pending_.begin() + 1 : pending_.end();
  const auto found = std::find_if(pending_.begin(), limit,
                                  [](const auto& candidate) { return candidate->opened; });
  if (found == limit) return nullptr;
  std::unique_ptr<InnerReadAhead> taken = std::move(*found);
  pending_.erase(found);
  return taken;
}

bool CycleAhead::wants_outer(std::uint64_t readers) const {
  if (in_step_) return pending_.empty();
  const std::uint64_t empty_slots = cycle_length_ - open_in_cycle_;
  return pending_.size() < readers + std::min(readers, empty_slots);
}

void CycleAhead::await(Awaited what, InnerReadAhead* inner) {
  awaited_ = what;
  wanted_ = inner;
}

bool CycleAhead::has_news(bool slot_is_empty, bool outer_is_over) const {
  for (const auto& inner : cycle_) {
    if (inner != nullptr && inner->has_news()) return true;
  }
  if (!slot_is_empty) return false;
  if (pending_.empty()) return outer_is_over;
  return std::any_of(pending_.begin(), pending_.end(),
                     [](const auto& inner) { return inner->opened; });
}

InnerReadAhead* CycleAhead::claim() {
  InnerReadAhead* const inner = choose();
  if (inner == nullptr) return nullptr;
  inner->busy = true;
  ++busy_;
  return inner;
}

void CycleAhead::release(InnerReadAhead& inner) {
  inner.busy = false;
  --busy_;
}

/// Looks at the cycle's inner datasets from the consumer's turn on, then at those to come.
InnerReadAhead* CycleAhead::first_in_need(Need need) const {
  const auto needs = [need](const InnerReadAhead& inner) {
    return inner.is_free() && (need == Need::of_more ? inner.is_low() : inner.ready.empty());
  };
  for (std::size_t i = 0, slot = turn_; i < cycle_.size(); ++i, ++slot) {
    if (slot >= cycle_.size()) slot = 0;
    if (cycle_[slot] != nullptr && needs(*cycle_[slot])) return cycle_[slot].get();
  }
  if (need == Need::of_any_in_cycle) return nullptr;
  for (const auto& inner : pending_) {
    if (needs(*inner)) return inner.get();
  }
  return nullptr;
}

/// Returns the inner dataset that the consumer waits for; null while another reader works. One that
/// is still to come is opened only when it has a place in the cycle.
InnerReadAhead* CycleAhead::choose_in_step() const {
  if (busy_ != 0) return nullptr;
  if (wanted_ != nullptr) return wanted_->is_free() && wanted_->ready.empty() ? wanted_ : nullptr;
  if (awaited_ == Awaited::nothing) return nullptr;
  const bool has_place = awaited_ == Awaited::opening || open_in_cycle_ < cycle_length_;
  if (has_place && !pending_.empty() && !pending_.front()->opened) return pending_.front().get();
  return awaited_ == Awaited::anything ? first_in_need(Need::of_any_in_cycle) : nullptr;
}

InnerReadAhead* CycleAhead::choose() const {
  if (in_step_) return choose_in_step();
  if (wanted_ != nullptr && wanted_->is_free() && wanted_->ready.empty()) return wanted_;
  if (awaited_ == Awaited::opening && !pending_.empty() && pending_.front()->is_free() &&
      !pending_.front()->opened) {
    return pending_.front().get();
  }
  if (memory_short_ && awaited_ != Awaited::anything) return nullptr;
  if (InnerReadAhead* const inner = first_in_need(Need::of_any)) return inner;
  return memory_short_ ? nullptr : first_in_need(Need::of_more);
}

bool CycleAhead::others_come_first(const InnerReadAhead& inner) const {
  if (awaited_ != Awaited::elements && awaited_ != Awaited::opening) return false;
  const InnerReadAhead* const first = choose();
  return wanted_ != &inner && first != nullptr && (first == wanted_ || !first->opened);
}

}  // namespace infeed::detail
