#include <algorithm>
#include <limits>
#include <utility>

#include "shuffle/shuffle.h"

namespace infeed::detail {
namespace {

constexpr std::uint64_t kNobody = std::numeric_limits<std::uint64_t>::max();

std::uint64_t refills_before(std::uint64_t buffer, std::uint64_t input_count,
                             std::uint64_t handed_out) {
  const std::uint64_t room = buffer - 1;
  return input_count > room ? std::min(handed_out, input_count - room) : 0;
}

}  // namespace

BufferContent::BufferContent(const Philox& generator, std::uint64_t buffer,
                             std::uint64_t input_count, std::uint64_t handed_out) {
  // waiting[s] is the slot (now) whose content lay in slot s at the time that the walk has reached.
  // Before the first hand-out the element s lay there.
  std::vector<std::uint64_t>& waiting = first_;
  waiting.assign(std::min(buffer, input_count), kNobody);
  const std::uint64_t room = buffer - 1;
  const std::uint64_t filled = elements_entered(buffer, input_count, handed_out);
  std::uint64_t unknown = 0;
  for (std::uint64_t position = handed_out; position < filled; ++position) {
    waiting[position % buffer] = position % buffer;
    ++unknown;
  }
  later_.reserve(std::min(unknown, refills_before(buffer, input_count, handed_out)));
  std::array<std::uint32_t, 4> words{};
  std::uint64_t j = handed_out % buffer;
  for (std::uint64_t t = handed_out; t-- > 0 && later_.size() < unknown;) {
    if ((t & 3) == 3 || t + 1 == handed_out) words = generator.block(t >> 2);
    j = j == 0 ? buffer - 1 : j - 1;  // t mod buffer
    const std::uint64_t live = std::min(buffer, input_count - t);
    std::uint64_t i = j + words[t & 3] % live;
    if (i >= buffer) i -= buffer;
    if (i != j) waiting[j] = std::exchange(waiting[i], kNobody);
    // Undoes the refill before hand-out t.
    if (t == 0 || input_count - t < buffer) continue;
    const std::uint64_t refilled = j == 0 ? buffer - 1 : j - 1;
    if (waiting[refilled] != kNobody) {
      later_.push_back({t + room, std::exchange(waiting[refilled], kNobody)});
    }
  }
  if (later_.size() == unknown) std::vector<std::uint64_t>().swap(first_);
  pass_over_nobody();
}

std::uint64_t BufferContent::bytes_max(std::uint64_t buffer, std::uint64_t input_count,
                                       std::uint64_t handed_out) {
  constexpr std::uint64_t kSlotsMax = std::uint64_t{1} << 48;  // no machine has as many
  const std::uint64_t slots = std::min({buffer, input_count, kSlotsMax});
  const std::uint64_t unknown = elements_entered(buffer, input_count, handed_out) - handed_out;
  const std::uint64_t later =
      std::min({unknown, refills_before(buffer, input_count, handed_out), kSlotsMax});
  return slots * sizeof(std::uint64_t) + slots / 8 + later * sizeof(Buffered);
}

void BufferContent::pass_over_nobody() {
  while (at_ < first_.size() && first_[at_] == kNobody) ++at_;
}

void BufferContent::pop() {
  if (at_ == first_.size()) return later_.pop_back();
  ++at_;
  pass_over_nobody();
}

std::size_t BufferContent::run_length(std::size_t most) const {
  std::size_t length = 0;
  if (at_ < first_.size()) {
    most = std::min<std::uint64_t>(most, first_.size() - at_);
    while (length < most && first_[at_ + length] != kNobody) ++length;
  } else {
    most = std::min(most, later_.size());
    const auto next = later_.rbegin();
    const std::uint64_t position = next->position;
    while (length < most && next[static_cast<std::ptrdiff_t>(length)].position == position + length)
      ++length;
  }
  return length;
}

std::uint64_t input_position_of(const Philox& generator, std::uint64_t buffer,
                                std::uint64_t input_count, std::uint64_t t) {
  const auto slot_of = [&](std::uint64_t hand_out) {
    const std::uint64_t live = std::min(buffer, input_count - hand_out);
    const std::uint64_t word = generator.block(hand_out >> 2)[hand_out & 3];
    return (hand_out % buffer + word % live) % buffer;
  };
  const std::uint64_t room = buffer - 1;
  std::uint64_t slot = slot_of(t);
  while (t > 0) {
    const std::uint64_t freed = (t - 1) % buffer;
    // Before this hand-out the slot that the previous one freed was filled again.
    if (slot == freed && input_count - t >= buffer) return t + room;
    --t;
    if (slot == slot_of(t)) slot = t % buffer;  // the hand-out moved that slot's content here
  }
  return slot;
}

}  // namespace infeed::detail
