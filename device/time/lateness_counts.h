#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>

#include <infeed/device/paced.h>

namespace infeed {

/// Counts late wake-ups in a few kilobytes, however long the run: 32 classes an octave, so that a
/// quantile is known to within 3 %. The maximum is exact.
class LatenessCounts {
 public:
  /// A negative (early) value counts as 0.
  void add(std::int64_t late_ns) {
    late_ns = std::max<std::int64_t>(0, late_ns);
    const auto value = static_cast<std::uint64_t>(late_ns);
    // Up to 32 each value has a class; above, the five bits behind the first one choose it.
    const int octave = std::max(0, static_cast<int>(std::bit_width(value)) - 6);
    const std::size_t at = static_cast<std::size_t>(octave) * kClassesOfOctave +
                           static_cast<std::size_t>(value >> octave);
    ++counts_[std::min(at, counts_.size() - 1)];
    ++all_;
    max_ns_ = std::max(max_ns_, late_ns);
  }
  WakeLateness result() const {
    if (all_ == 0) return {};
    return {
        .wakes = all_, .p50_ns = quantile_ns(0.50), .p99_ns = quantile_ns(0.99), .max_ns = max_ns_};
  }

 private:
  static constexpr int kClassesOfOctave = 32;

  /// Returns the middle of the quantile's class.
  std::int64_t quantile_ns(double share) const {
    auto left = static_cast<std::int64_t>(std::ceil(share * static_cast<double>(all_)));
    for (std::size_t at = 0; at < counts_.size(); ++at) {
      left -= counts_[at];
      if (left > 0 || counts_[at] == 0) continue;
      if (at < 2 * kClassesOfOctave) return static_cast<std::int64_t>(at);
      const std::size_t octave = at / kClassesOfOctave - 1;
      const auto low = static_cast<std::int64_t>((at - octave * kClassesOfOctave) << octave);
      return std::min(max_ns_, low + (std::int64_t{1} << octave) / 2);
    }
    return max_ns_;
  }

  std::array<std::int64_t, 60 * kClassesOfOctave> counts_{};
  std::int64_t all_ = 0;
  std::int64_t max_ns_ = 0;
};

}  // namespace infeed
