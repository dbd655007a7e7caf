#pragma once

#include <cstdint>

#include "sanitizers.h"

/// Why: a memory account that counts itself proves nothing. A program that links counted_memory.cc
/// counts every byte that its allocator hands out: malloc, new, aligned memory. Mapped files and
/// stacks of threads don't count.
///
///     CountedMemory memory;                        // begins to count from here
///     { auto iterator = dataset.iterate({.memory_bytes_max = limit}); ... }
///     EXPECT_LE(memory.peak_bytes(), limit + kAllowedBytes);
///     EXPECT_LE(memory.held_bytes(), kNothingBytes);
///
/// Memory aligned to pages counts with the requested bytes, other memory with the allocated ones.
/// It works with glibc and with AddressSanitizer's allocator. Elsewhere, and with ThreadSanitizer's
/// (which doesn't report aligned memory), kMemoryIsCounted is false and all figures are 0.
namespace infeed::test {

#if defined(__GLIBC__)
inline constexpr bool kMemoryIsCounted = !test::kThreadSanitizer;
#else
inline constexpr bool kMemoryIsCounted = test::kAddressSanitizer;
#endif

/// Returns the bytes that the process has from its allocator now.
std::uint64_t counted_bytes();
/// Returns the most of them since restart_counted_peak().
std::uint64_t counted_peak_bytes();
void restart_counted_peak();

/// The memory of the process beyond that at construction. One object at a time, as there is one
/// peak for all.
class CountedMemory {
 public:
  CountedMemory() : base_bytes_(counted_bytes()) { restart_counted_peak(); }

  std::uint64_t held_bytes() const { return beyond_base(counted_bytes()); }
  std::uint64_t peak_bytes() const { return beyond_base(counted_peak_bytes()); }
  /// Sets the peak to the bytes held now; the base stays.
  static void restart_peak() { restart_counted_peak(); }

 private:
  std::uint64_t beyond_base(std::uint64_t bytes) const {
    return bytes > base_bytes_ ? bytes - base_bytes_ : 0;
  }

  const std::uint64_t base_bytes_;
};

}  // namespace infeed::test
