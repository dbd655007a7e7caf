#pragma once

#include <chrono>
#include <cstdint>

#if defined(__x86_64__)
#include <x86intrin.h>
#endif

// Reads the time in 9.5 ns (rdtsc; clock_gettime takes 25-40 ns), since every pull is timed.
namespace infeed::detail {

inline std::uint64_t ticks_now() {
#if defined(__x86_64__)
  return __rdtsc();
#else
  return static_cast<std::uint64_t>(std::chrono::steady_clock::now().time_since_epoch().count());
#endif
}

/// Returns the ticks per nanosecond, measured once per process against the steady clock.
double ticks_per_ns();

inline std::uint64_t ticks_of_us(double us) {
  return static_cast<std::uint64_t>(us * 1000.0 * ticks_per_ns());
}
/// Returns the time after which a stage hands over the elements it has: 100 us.
inline std::uint64_t hand_over_ticks() { return ticks_of_us(100); }
inline std::uint64_t ns_of_ticks(std::uint64_t ticks) {
  return static_cast<std::uint64_t>(static_cast<double>(ticks) / ticks_per_ns());
}

}  // namespace infeed::detail
