#pragma once

#include <cstdint>

/// Counts the live memory of malloc and its kin in the whole process: for operator new, the C
/// library, zlib and all others. Under a sanitizer, which brings its own allocator, the figures are
/// that allocator's, without a peak.
namespace infeed::test {

bool allocator_has_peak();
std::uint64_t live_bytes();
/// Returns the most live bytes since reset_peak_bytes().
std::uint64_t peak_bytes();
void reset_peak_bytes();

}  // namespace infeed::test
