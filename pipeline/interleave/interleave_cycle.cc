#include "interleave/interleave_cycle.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "engine/iterator_context.h"
#include "engine/work/passing_error.h"

namespace infeed::detail {

namespace {

/// Moves elements that lie next to each other to places `stride_bytes` apart.
template <std::size_t kSize>
void spread(const TypeInfo& type, std::byte* to, std::size_t stride_bytes, std::byte* from,
            std::size_t count) {
  const std::size_t size = kSize == 0 ? type.size : kSize;
  for (; count > 0; --count) {
    move_one<kSize>(type, to, from);
    to += stride_bytes;
    from += size;
  }
}

}  // namespace

InterleaveCycle::Slot& InterleaveCycle::at_hand() {
  if (at_ == slots_.size()) slots_.emplace_back(type_);
  return slots_[at_];
}

void InterleaveCycle::advance() {
  block_left_ = block_length_;
  ++at_;
  // Once the outer input has ended nothing more is opened, so slots never visited are left out.
  if (at_ == cycle_length_ || (outer_ended_ && at_ >= slots_.size())) at_ = 0;
}

/// Notes that the last outer element's inner dataset is in the slot.
void InterleaveCycle::note_open(Slot& slot) {
  slot.is_open = true;
  slot.is_traced = history_ != nullptr;
  slot.outer = opened_ - 1;
  slot.taken = 0;
  ++open_;
}

std::optional<Bookmark> InterleaveCycle::place() const {
  if (open_ > kOpenMax) return std::nullopt;
  std::vector<std::size_t> open;
  open.reserve(open_);
  for_each_open_slot([&](std::size_t slot) { open.push_back(slot); });
  std::sort(open.begin(), open.end(),
            [this](std::size_t a, std::size_t b) { return slots_[a].outer < slots_[b].outer; });
  Bookmark place{.inputs = {open.empty() ? opened_ : slots_[open.front()].outer}, .state = {}};
  place.state.reserve(kPlaceNumbers + open.size() * kSlotNumbers);
  place.state = {at_, block_left_, outer_ended_ ? 1U : 0U, slots_.size(), opened_};
  for (const std::size_t slot : open)
    place.state.insert(place.state.end(), {slot, slots_[slot].outer, slots_[slot].taken});
  return place;
}

/// Takes the numbers of a place, and marks its slots as open. Returns false if it is none.
bool InterleaveCycle::take_over(const Bookmark& place) {
  const std::vector<std::uint64_t>& state = place.state;
  const bool has_numbers = place.inputs.size() == 1 && state.size() >= kPlaceNumbers &&
                           (state.size() - kPlaceNumbers) % kSlotNumbers == 0;
  if (!has_numbers || state[kSlots] > cycle_length_ || state[kAt] >= cycle_length_ ||
      state[kAt] > state[kSlots] || state[kBlockLeft] < 1 || state[kBlockLeft] > block_length_ ||
      state[kSlots] > state[kOpened] + 1)
    return false;
  at_ = static_cast<std::size_t>(state[kAt]);
  block_left_ = state[kBlockLeft];
  outer_ended_ = state[kOuterEnded] != 0;
  while (slots_.size() < state[kSlots]) slots_.emplace_back(type_);
  for (std::size_t at = kPlaceNumbers; at < state.size(); at += kSlotNumbers) {
    const std::uint64_t slot = state[at + kSlot];
    const std::uint64_t outer = state[at + kOuter];
    if (slot >= slots_.size() || outer < (at == kPlaceNumbers ? place.inputs[0] : opened_) ||
        outer >= state[kOpened] || slots_[static_cast<std::size_t>(slot)].is_open)
      return false;
    opened_ = outer + 1;
    note_open(slots_[static_cast<std::size_t>(slot)]);
    slots_[static_cast<std::size_t>(slot)].taken = state[at + kTaken];
  }
  opened_ = state[kOpened];
  return true;
}

/// Passes the turn on: the current slot has nothing yet, and the order doesn't matter.
void InterleaveCycle::pass_on() {
  const bool unopened = !slots_[at_].is_open;
  advance();
  // One slot that waits for the next inner dataset is enough.
  if (unopened && at_ == slots_.size()) at_ = 0;
}

void InterleaveCycle::step(std::uint64_t count) {
  block_left_ -= count;
  if (block_left_ == 0) advance();
}

void InterleaveCycle::close(Slot& slot) {
  slot.is_open = false;
  --open_;
  advance();
}

/// Returns how many rounds, a block of each open slot, can be taken before a slot is empty or `room`
/// full.
std::size_t InterleaveCycle::rounds_at_hand(std::size_t room) const {
  const bool is_whole = slots_.size() == cycle_length_ || outer_ended_;
  if (at_ != 0 || block_left_ != block_length_ || !is_whole || open_ == 0) return 0;
  std::uint64_t values = room / open_;
  for (const Slot& slot : slots_) {
    if (!is_over(slot)) values = std::min<std::uint64_t>(values, slot.in.size());
  }
  return static_cast<std::size_t>(values / block_length_);
}

template <std::size_t kSize>
void InterleaveCycle::take_rounds(std::byte* to, std::size_t rounds) {
  const std::size_t size = kSize == 0 ? type_.size : kSize;
  const std::size_t block = static_cast<std::size_t>(block_length_);
  // A local number: members would be read again for every element, an eighth of the time.
  const std::size_t round_bytes = open_ * block * size;
  for (Slot& slot : slots_) {
    if (is_over(slot)) continue;
    Chunk& in = slot.in;
    auto* from = static_cast<std::byte*>(in.front());
    if (block == 1) {
      spread<kSize>(type_, to, round_bytes, from, rounds);
    } else {
      for (std::size_t round = 0; round < rounds; ++round)
        type_.relocate(to + round * round_bytes, from + round * block * size, block);
    }
    to += block * size;
    in.drop_front(rounds * block);
    slot.taken += rounds * block;
  }
}

template <std::size_t kSize>
void InterleaveCycle::take_values(Chunk& out, std::size_t want) {
  const std::size_t size = kSize == 0 ? type_.size : kSize;
  auto* to = static_cast<std::byte*>(out.back());
  std::size_t room = want;
  while (room > 0 && at_ < slots_.size()) {
    if (const std::size_t rounds = rounds_at_hand(room); rounds > 0) {
      take_rounds<kSize>(to, rounds);
      const std::size_t taken = rounds * open_ * static_cast<std::size_t>(block_length_);
      to += taken * size;
      room -= taken;
      continue;
    }
    if (is_over(slots_[at_]) && open_ > 0) {
      advance();
      continue;
    }
    Chunk& in = slots_[at_].in;
    const std::size_t count =
        static_cast<std::size_t>(std::min<std::uint64_t>({in.size(), block_left_, room}));
    if (count == 0) break;
    if (count == 1) {
      move_one<kSize>(type_, to, in.front());
    } else {
      type_.relocate(to, in.front(), count);
    }
    in.drop_front(count);
    slots_[at_].taken += count;
    to += count * size;
    room -= count;
    step(count);
  }
  out.grow(want - room);
}

void InterleaveCycle::give_values(Chunk& out, std::size_t want, std::uint64_t position) {
  const std::size_t at = at_;
  const std::uint64_t block_left = block_left_;
  with_size(type_, [&](auto size) { take_values<decltype(size)::value>(out, want); });
  if (history_ != nullptr && out.size() > 0)
    history_->add({position, out.size(), at, block_left, slots_.size()});
}

TracedPlace InterleaveCycle::trace(std::uint64_t position) const {
  if (history_ == nullptr) return TracedPlace::unknown("nothing is recorded");
  return history_->find(position);
}

Pull InterleaveCycle::pull(InnerSupplier& supplier, Chunk& out, std::size_t want,
                           std::uint64_t position) {
  std::size_t not_ready = 0;
  while (true) {
    give_values(out, want, position);
    if (!out.empty()) return Pull::values;
    Slot& slot = at_hand();
    ErrorPointer error = slot.in.take_error();
    if (error != nullptr) {
      ++slot.taken;
      step(1);
    }
    const Supply filled = error != nullptr ? Supply::values : fill(supplier, slot, error);
    if (error != nullptr) {
      out.set_error(std::move(error));
      return Pull::values;
    }
    if (filled == Supply::cancelled) return Pull::cancelled;
    if (filled != Supply::values && outer_ended_ && open_ == 0) return Pull::end;
    not_ready = filled == Supply::not_yet ? not_ready + 1 : 0;
    if (filled == Supply::not_yet) pass_on();
    if (not_ready > slots_.size()) {
      const Pull waited = supplier.wait();
      if (waited != Pull::values) return waited;
      not_ready = 0;
    }
  }
}

/// Fills the current slot, or passes the turn on if its inner dataset is over (Supply::end). A slot
/// that stays empty counts as not ready. If it counted as progress, a consumer among such slots
/// would never wait, and the inner dataset that it waits for might never be read.
Supply InterleaveCycle::fill(InnerSupplier& supplier, Slot& slot, ErrorPointer& error) {
  if (!slot.is_open) {
    if (outer_ended_) return Supply::not_yet;
    const Supply opened = supplier.open(at_, error);
    if (opened == Supply::end) outer_ended_ = true;
    if (opened == Supply::values) ++opened_;
    if (opened != Supply::values || error != nullptr) return opened;
    note_open(slot);
  }
  const Supply filled = supplier.refill(at_, slot.in);
  if (slot.is_traced && filled == Supply::values) note_places(supplier, slot);
  if (filled == Supply::end) close(slot);
  return filled;
}

/// Notes the places. An inner dataset that can't trace its first values isn't asked again.
void InterleaveCycle::note_places(InnerSupplier& supplier, Slot& slot) {
  InnerPlaces places = supplier.places(at_);
  slot.is_traced = places.first.place || slot.in.size() == 0;
  history_->refill(at_, std::move(places));
}

/// Drops elements that were already pulled from the current slot, up to the end of its turn.
std::uint64_t InterleaveCycle::drop_buffered(Slot& slot, std::uint64_t count, Known known) {
  const std::uint64_t dropped = drop_slots(slot.in, std::min(count, block_left_), known);
  if (history_ != nullptr) history_->drop(at_, dropped);
  slot.taken += dropped;
  step(dropped);
  return dropped;
}

/// Skips whole rounds. While no inner dataset ends, a round takes block_length elements of each
/// open slot.
std::uint64_t InterleaveCycle::skip_rounds(SerialInnerSupplier& supplier, std::uint64_t count,
                                           Known known) {
  const bool all_open = open_ == slots_.size() && slots_.size() == cycle_length_;
  if (at_ != 0 || block_left_ != block_length_ || open_ == 0 || !(all_open || outer_ended_)) {
    return 0;
  }
  if (block_length_ > std::numeric_limits<std::uint64_t>::max() / open_) return 0;
  std::uint64_t rounds = count / (block_length_ * open_);
  for (std::size_t i = 0; i < slots_.size(); ++i) {
    if (!slots_[i].is_open) continue;
    const InnerStream& stream = supplier.stream(i);
    const Cardinality length = stream.node().cardinality();
    if (length.is_unknown() || !slots_[i].in.empty()) return 0;
    if (!length.is_finite()) continue;
    if (length.count() < stream.given()) return 0;
    rounds = std::min(rounds, (length.count() - stream.given()) / block_length_);
  }
  if (rounds < 2) return 0;
  for_each_open_slot([&](std::size_t slot) {
    supplier.stream(slot).skip(rounds * block_length_, known);
    slots_[slot].taken += rounds * block_length_;
  });
  return rounds * block_length_ * open_;
}

std::uint64_t InterleaveCycle::skip(SerialInnerSupplier& supplier, std::uint64_t count, Known known,
                                    const IteratorContext& run) {
  std::uint64_t skipped = 0;
  while (skipped < count) {
    if (known == Known::no_errors) {
      skipped += skip_rounds(supplier, count - skipped, known);
      if (skipped == count) break;
    }
    if (run.cancelled()) break;
    Slot& slot = at_hand();
    if (!slot.in.empty()) {
      skipped += drop_buffered(slot, count - skipped, known);
      continue;
    }
    if (!slot.is_open) {
      if (outer_ended_) {
        if (open_ == 0) break;
        advance();
        continue;
      }
      ErrorPointer error;
      const Supply opened = supplier.open(at_, error);
      if (opened == Supply::cancelled) break;
      if (opened == Supply::end) {
        outer_ended_ = true;
      } else {
        ++opened_;
        if (error != nullptr) {
          end_if_passing(*error, known);
          ++skipped;
        } else {
          note_open(slot);
        }
      }
      continue;
    }
    const std::uint64_t wanted = std::min(block_left_, count - skipped);
    const std::uint64_t passed = supplier.stream(at_).skip(wanted, known);
    skipped += passed;
    slot.taken += passed;
    if (passed == wanted) {
      step(passed);
    } else if (!run.cancelled()) {
      supplier.stream(at_).close();
      close(slot);
    }
  }
  return skipped;
}

}  // namespace infeed::detail
