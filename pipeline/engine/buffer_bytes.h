#pragma once

#include <algorithm>
#include <cstdint>

namespace infeed::detail {

/// No machine has as many. Sums of a few such numbers don't overflow.
inline constexpr std::uint64_t kBytesBeyondAll = UINT64_MAX / 1024;

/// Returns the bytes of `count` elements, at most kBytesBeyondAll: users give both numbers, and a
/// product beyond 64 bits would be small again and pass any limit.
inline std::uint64_t bytes_of_elements(std::uint64_t count, std::uint64_t each) {
  std::uint64_t bytes = 0;
  if (__builtin_mul_overflow(count, each, &bytes)) return kBytesBeyondAll;
  return std::min(bytes, kBytesBeyondAll);
}

}  // namespace infeed::detail
