#pragma once

#include <cstdint>

/// Counts what malloc and its kin have given and not got back, in the whole process: what operator new,
/// the C library, zlib and all others ask for. Under a sanitizer, which brings an allocator of its own,
/// that one is asked, and there is no peak.
namespace infeed::test {

bool allocator_has_peak();
std::uint64_t live_bytes();
/// The most that was live since reset_peak_bytes().
std::uint64_t peak_bytes();
void reset_peak_bytes();

}  // namespace infeed::test
