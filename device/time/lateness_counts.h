#pragma once

#include <array>
#include <cstdint>

#include <infeed/device/paced.h>

namespace infeed {

/// Counts how late wake-ups were, in the same few kilobytes for an hour as for a week: 32 classes
/// an octave, so that a quantile is known to within 3 %. The maximum is exact.
class LatenessCounts {
 public:
  /// Early is not late: negative counts as 0.
  void add(std::int64_t late_ns);
  WakeLateness result() const;

 private:
  static constexpr int kClassesOfOctave = 32;

  std::int64_t quantile_ns(double share) const;

  std::array<std::int64_t, 60 * kClassesOfOctave> counts_{};
  std::int64_t all_ = 0;
  std::int64_t max_ns_ = 0;
};

}  // namespace infeed
