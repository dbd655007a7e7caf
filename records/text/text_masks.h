#pragma once

#include <bit>
#include <cstdint>
#include <cstring>
#if defined(__SSE2__)
#include <emmintrin.h>
#endif

/// Finds characters among 64 or 16 neighbouring bytes. Masks have a bit for each byte, the first
/// one lowest.
namespace infeed::detail {

#if defined(__SSE2__)

inline std::uint32_t mask_of_16(__m128i bytes, char c) {
  return static_cast<std::uint32_t>(_mm_movemask_epi8(_mm_cmpeq_epi8(bytes, _mm_set1_epi8(c))));
}

/// Holds 64 bytes in registers, for any number of comparisons.
class Bytes64 {
 public:
  explicit Bytes64(const char* at) {
    parts_[0] = _mm_loadu_si128(reinterpret_cast<const __m128i*>(at));
    parts_[1] = _mm_loadu_si128(reinterpret_cast<const __m128i*>(at + 16));
    parts_[2] = _mm_loadu_si128(reinterpret_cast<const __m128i*>(at + 32));
    parts_[3] = _mm_loadu_si128(reinterpret_cast<const __m128i*>(at + 48));
  }
  std::uint64_t equal(char c) const {
    const __m128i wanted = _mm_set1_epi8(c);
    return mask([&](int i) { return _mm_cmpeq_epi8(parts_[i], wanted); });
  }

 private:
  /// Written out, since compilers keep the loop.
  template <class Compare>
  static std::uint64_t mask(Compare compare) {
    const auto part = [&compare](int i) {
      return std::uint64_t{static_cast<std::uint32_t>(_mm_movemask_epi8(compare(i)))};
    };
    return (part(0) | part(1) << 16) | (part(2) | part(3) << 16) << 32;
  }
  __m128i parts_[4];
};

#else

class Bytes64 {
 public:
  explicit Bytes64(const char* at) { std::memcpy(bytes_, at, sizeof(bytes_)); }
  std::uint64_t equal(char c) const {
    std::uint64_t bits = 0;
    for (int i = 0; i < 64; ++i) bits |= std::uint64_t{bytes_[i] == c} << i;
    return bits;
  }

 private:
  char bytes_[64];
};

#endif

/// Returns the first `c` at or behind `at`; `end` when there is none. Reads up to 15 bytes behind
/// the end.
inline const char* find_char(const char* at, const char* end, char c) {
#if defined(__SSE2__)
  for (; at < end; at += 16) {
    const std::uint32_t found =
        mask_of_16(_mm_loadu_si128(reinterpret_cast<const __m128i*>(at)), c);
    if (found == 0) continue;
    at += std::countr_zero(found);
    return at < end ? at : end;
  }
  return end;
#else
  const void* const found = std::memchr(at, c, static_cast<std::size_t>(end - at));
  return found == nullptr ? end : static_cast<const char*>(found);
#endif
}

}  // namespace infeed::detail
