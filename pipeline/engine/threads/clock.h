#pragma once

#include <chrono>
#include <cstdint>

#if defined(__x86_64__)
#include <x86intrin.h>
#endif

// Time at the price of 9.5 ns a reading (rdtsc; clock_gettime: 25-40 ns), since every pull is
// timed.
namespace infeed::detail {

inline std::uint64_t ticks_now() {
#if defined(__x86_64__)
  return __rdtsc();
#else
  return static_cast<std::uint64_t>(std::chrono::steady_clock::now().time_since_epoch().count());
#endif
}

/// Ticks in a nanosecond, measured once a process against the steady clock.
double ticks_per_ns();

inline std::uint64_t ticks_of_us(double us) {
  return static_cast<std::uint64_t>(us * 1000.0 * ticks_per_ns());
}
/// A stage hands over what it has once this much time went by: 100 us.
inline std::uint64_t hand_over_ticks() { return ticks_of_us(100); }
inline std::uint64_t ns_of_ticks(std::uint64_t ticks) {
  return static_cast<std::uint64_t>(static_cast<double>(ticks) / ticks_per_ns());
}

}  // namespace infeed::detail
