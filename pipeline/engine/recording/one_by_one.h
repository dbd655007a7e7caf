#pragma once

#include <atomic>
#include <cstdint>

#include "engine/threads/clock.h"

namespace infeed::detail {

/// Decides when cheap elements are timed one by one, so that the next slow one is known exactly.
/// Among cheap elements a slow one is only known to be in a block of some dozens, whose records are
/// no neighbours behind a shuffle. Timing each costs 50 ns, so a stage earns it: a thirty-second of
/// the time of its slow blocks, and a hundredth of all time from then on. A call of 40 ms pays for
/// the next 25,000 elements, and the stage loses 3 % at most.
///
/// Thread-safety: all calls are. Lost updates do no harm.
class OneByOne {
 public:
  /// Notes a block of `count` elements that took `ticks`.
  void note(std::uint64_t ticks, std::uint64_t count, bool is_slow) {
    std::int64_t credit = credit_ticks_.load(std::memory_order_relaxed);
    if (!is_slow && credit == kNone) return;
    if (credit == kNone) credit = 0;
    credit += static_cast<std::int64_t>(ticks / (is_slow ? 32 : 100));
    if (count == 1 && credit > 0) credit -= cost_ticks_;
    credit_ticks_.store(credit < max_ticks_ ? credit : max_ticks_, std::memory_order_relaxed);
  }
  bool is_due() const { return credit_ticks_.load(std::memory_order_relaxed) > 0; }

 private:
  static constexpr std::int64_t kNone = INT64_MIN;  ///< nothing was slow yet

  const std::int64_t cost_ticks_ = static_cast<std::int64_t>(ticks_of_us(0.05));
  const std::int64_t max_ticks_ = static_cast<std::int64_t>(ticks_of_us(100e3));
  std::atomic<std::int64_t> credit_ticks_{kNone};
};

}  // namespace infeed::detail
