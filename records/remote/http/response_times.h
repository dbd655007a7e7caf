#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <optional>
#include <vector>

namespace infeed::detail {

/// Keeps how long the latest ranges took, to tell when another one is unusually slow.
///
/// Thread-safety: one thread.
class ResponseTimes {
 public:
  using Duration = std::chrono::steady_clock::duration;

  void add(std::size_t bytes, Duration took) {
    const Sample sample{bytes, took};
    if (samples_.size() < kSamplesMax) {
      samples_.push_back(sample);
    } else {
      samples_[next_++ % kSamplesMax] = sample;
    }
  }

  /// Returns the time within which `percentile` of the ranges of at least `bytes` came. Empty while
  /// there are few such ranges.
  std::optional<Duration> of(std::size_t bytes, double percentile) const {
    if (!(percentile < 1)) return std::nullopt;  // nor for NaN
    std::vector<Duration> took;
    for (const Sample& sample : samples_) {
      if (sample.bytes >= bytes) took.push_back(sample.took);
    }
    if (took.size() < kSamplesMin) return std::nullopt;
    const auto rank =
        static_cast<std::size_t>(std::max(percentile, 0.0) * static_cast<double>(took.size()));
    const auto place = took.begin() + static_cast<std::ptrdiff_t>(rank);
    std::nth_element(took.begin(), place, took.end());
    return *place;
  }

 private:
  static constexpr std::size_t kSamplesMin = 8;
  static constexpr std::size_t kSamplesMax = 64;
  struct Sample {
    std::size_t bytes;
    Duration took;
  };

  std::vector<Sample> samples_;
  std::size_t next_ = 0;
};

}  // namespace infeed::detail
