#include "engine/work/queue_depth.h"

#include <algorithm>
#include <utility>

#include "engine/threads/clock.h"

namespace infeed::detail {
namespace {

// Waking a thread takes 20 to 60 us. Up to kDepthForHandOvers the queue doubles to have fewer
// hand-overs. Beyond that it doubles to bridge longer stalls, if they take a 32nd of all time: one
// single loss of the core isn't worth a MiB.
constexpr std::uint64_t kDepthForHandOvers = 32;
constexpr double kStallUs = 200;
constexpr std::uint64_t kStallsPart = 32;

}  // namespace

std::uint64_t QueueDepth::room(std::uint64_t elements, std::uint64_t bytes,
                               std::uint64_t bytes_each) const {
  const std::uint64_t by_count =
      limits_.elements_max > elements ? limits_.elements_max - elements : 0;
  const std::uint64_t by_bytes =
      limits_.bytes_max > bytes
          ? (limits_.bytes_max - bytes) / std::max<std::uint64_t>(1, bytes_each)
          : 0;
  return std::max<std::uint64_t>({1, by_count, by_bytes});
}

void QueueDepth::set(std::uint64_t depth) {
  limits_ = QueueLimits::of_depth(depth, limits_.adaptive);
  was_full_ = false;
  publish();
}

void QueueDepth::note_level(std::uint64_t elements, std::uint64_t bytes) {
  if (knob_ == nullptr) return;
  knob_->note_low(
      static_cast<std::int64_t>(std::max(elements, bytes / QueueLimits::kBytesPerDepth)));
}

bool QueueDepth::take_was_full() { return std::exchange(was_full_, false); }

void QueueDepth::note_wait(bool was_full, std::uint64_t begin_ticks, std::uint64_t waited_ticks) {
  if (grew_at_ticks_ == 0) grew_at_ticks_ = begin_ticks;
  if (was_full && limits_.adaptive && is_worth_more(waited_ticks)) double_it();
}

/// Returns true if the queue should hold more, since it was full and then kept the consumer
/// waiting.
bool QueueDepth::is_worth_more(std::uint64_t waited_ticks) {
  if (limits_.elements_max < kDepthForHandOvers) return true;
  if (waited_ticks <= ticks_of_us(kStallUs)) return false;
  stalled_ticks_ += waited_ticks;
  return kStallsPart * stalled_ticks_ >= ticks_now() - grew_at_ticks_;
}

void QueueDepth::double_it() {
  const std::uint64_t most =
      knob_ == nullptr ? QueueLimits::kAdaptiveDepthMax : static_cast<std::uint64_t>(knob_->max());
  stalled_ticks_ = 0;
  grew_at_ticks_ = ticks_now();
  if (2 * limits_.elements_max > most) return;
  limits_ = QueueLimits::of_depth(2 * limits_.elements_max, true);
  if (knob_ != nullptr) knob_->note_value(static_cast<std::int64_t>(limits_.elements_max));
  publish();
}

}  // namespace infeed::detail
