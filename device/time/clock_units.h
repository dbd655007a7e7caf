#pragma once

#include <chrono>
#include <cmath>
#include <cstdint>

namespace infeed::detail {

constexpr std::int64_t kPsPerNs = 1000;
constexpr double kPsPerMs = 1e9;
constexpr double kPsPerSecond = 1e12;
constexpr std::int64_t kHopPs = 1'000'000;  ///< from a chip to the next one along an axis

inline std::int64_t to_ps(double seconds) { return std::llround(seconds * kPsPerSecond); }

constexpr std::int64_t divide_up(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

/// Reads the clock that all steps are measured by: CLOCK_MONOTONIC.
inline std::int64_t monotonic_ns() {
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::nanoseconds>(now).count();
}

}  // namespace infeed::detail
