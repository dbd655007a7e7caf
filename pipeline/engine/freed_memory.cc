#include "engine/freed_memory.h"

#include <algorithm>
#include <atomic>
#include <fstream>
#include <unistd.h>
#if defined(__GLIBC__)
#include <malloc.h>
#endif

namespace infeed::detail {
namespace {

// Memory that runs left, from which on it is given back: this much, and this part of the process's.
constexpr std::uint64_t kWorthGivingBackBytes = std::uint64_t{8} << 20;
constexpr std::uint64_t kWorthGivingBackShare = 16;
/// A run's peak has what it expected for a moment. Most hold less for long.
constexpr std::uint64_t kLeftByRunBytesMax = std::uint64_t{64} << 20;

/// Returns the process's memory; 0 if the system doesn't tell.
std::uint64_t resident_bytes() {
  std::ifstream statm("/proc/self/statm");
  std::uint64_t all_pages = 0;
  std::uint64_t pages = 0;
  if (!(statm >> all_pages >> pages)) return 0;
  return pages * static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
}

}  // namespace

void give_freed_memory_back() {
#if defined(__GLIBC__)
  ::malloc_trim(0);
#endif
}

void give_memory_of_run_back(std::uint64_t bytes) {
  static std::atomic<std::uint64_t> left_bytes{0};  // by all runs, which share the C library's heap
  const std::uint64_t by_run = std::min(bytes, kLeftByRunBytesMax);
  const std::uint64_t left = left_bytes.fetch_add(by_run, std::memory_order_relaxed) + by_run;
  if (left < kWorthGivingBackBytes || left < resident_bytes() / kWorthGivingBackShare) return;
  left_bytes.store(0, std::memory_order_relaxed);
  give_freed_memory_back();
}

}  // namespace infeed::detail
