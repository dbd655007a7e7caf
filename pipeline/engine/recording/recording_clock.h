#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>

#include "engine/threads/clock.h"

namespace infeed::detail {

/// The time that a call took itself.
struct OwnTime {
  std::uint64_t begin_ticks = 0;
  std::uint64_t ticks = 0;  ///< without what it called
};

/// The clock of a recording, which also says which calls are kept one by one. It never changes.
class RecordingClock {
 public:
  explicit RecordingClock(std::chrono::microseconds slow_after)
      : slow_ticks_(
            ticks_of_us(std::clamp(static_cast<double>(slow_after.count()), 10.0, kNeverUs))) {}

  std::uint64_t slow_ticks() const { return slow_ticks_; }
  bool is_slow(const OwnTime& time) const { return time.ticks >= slow_ticks_; }
  /// True if a call is so short that nobody misses one of many.
  bool is_brief(const OwnTime& time) const { return time.ticks < brief_ticks_; }

  std::uint64_t ns_of(std::uint64_t ticks) const {
    __extension__ using Wide = unsigned __int128;
    return static_cast<std::uint64_t>((Wide{ticks} * ns_per_2_32_ticks_) >> 32);
  }
  /// Returns the time of each of `calls`, which took `time` together.
  std::uint64_t ns_of(const OwnTime& time, std::uint64_t calls) const {
    const std::uint64_t ns = ns_of(time.ticks);
    return calls <= 1 ? ns : ns / calls;
  }
  // Return the time since the recording began.
  std::uint64_t ns_at(std::uint64_t ticks) const {
    return ns_of(ticks - std::min(ticks, start_ticks_));
  }
  std::uint64_t ns_at(std::chrono::steady_clock::time_point time) const {
    return static_cast<std::uint64_t>(std::max<std::int64_t>(0, (time - start_time_).count()));
  }
  std::uint64_t ns_now() const { return ns_at(ticks_now()); }

 private:
  static constexpr double kNeverUs = 1e15;  ///< 30 years; ticks of much longer times fit no integer

  const std::uint64_t slow_ticks_;
  const std::uint64_t brief_ticks_ = slow_ticks_ / 64;
  const std::uint64_t ns_per_2_32_ticks_ = static_cast<std::uint64_t>(0x1p32 / ticks_per_ns());
  const std::uint64_t start_ticks_ = ticks_now();
  const std::chrono::steady_clock::time_point start_time_ = std::chrono::steady_clock::now();
};

}  // namespace infeed::detail
