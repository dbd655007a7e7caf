#pragma once

#include <chrono>
#include <cstdint>

namespace infeed::detail {

/// Reads the clock that all steps are measured by: CLOCK_MONOTONIC.
inline std::int64_t monotonic_ns() {
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::nanoseconds>(now).count();
}

}  // namespace infeed::detail
