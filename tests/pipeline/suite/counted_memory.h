#pragma once

#include <cstdint>

#include "sanitizers.h"

/// Why: a memory account that counts itself proves nothing. A program that links counted_memory.cc
/// counts every byte that its allocator hands out, whoever asked for it: malloc, new, aligned
/// memory. Files that are mapped and stacks of threads aren't among them.
///
///     CountedMemory memory;                        // begins to count from here
///     { auto iterator = dataset.iterate({.memory_bytes_max = limit}); ... }
///     EXPECT_LE(memory.peak_bytes(), limit + kAllowedBytes);
///     EXPECT_LE(memory.held_bytes(), kNothingBytes);
///
/// Memory that is aligned to pages counts with the bytes that were asked for, other memory with those
/// that the allocator gave. It works with glibc and with AddressSanitizer's allocator. Elsewhere, and
/// with ThreadSanitizer's (which tells nobody of aligned memory), kMemoryIsCounted is false and all
/// figures are 0.
namespace infeed::test {

#if defined(__GLIBC__)
inline constexpr bool kMemoryIsCounted = !testing::kThreadSanitizer;
#else
inline constexpr bool kMemoryIsCounted = testing::kAddressSanitizer;
#endif

/// Bytes that the process has from its allocator at this moment.
std::uint64_t counted_bytes();
/// The most of them since restart_counted_peak().
std::uint64_t counted_peak_bytes();
void restart_counted_peak();

/// What the process has had beyond what it had when this was made. One at a time, as there is one
/// peak for all.
class CountedMemory {
 public:
  CountedMemory() : base_bytes_(counted_bytes()) { restart_counted_peak(); }

  std::uint64_t held_bytes() const { return beyond_base(counted_bytes()); }
  std::uint64_t peak_bytes() const { return beyond_base(counted_peak_bytes()); }
  /// The peak is what is held now; the base stays.
  static void restart_peak() { restart_counted_peak(); }

 private:
  std::uint64_t beyond_base(std::uint64_t bytes) const {
    return bytes > base_bytes_ ? bytes - base_bytes_ : 0;
  }

  const std::uint64_t base_bytes_;
};

}  // namespace infeed::test
