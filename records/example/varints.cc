#include "example/varints.h"

#include <bit>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include "io/little_endian.h"
#include "tfrecord/framing.h"

namespace infeed::detail {
namespace {

#if defined(__x86_64__)

/// Returns a mask: bit i is set if byte i of the 64 at `at` ends a varint.
inline std::uint64_t varint_ends(const char* at) {
  std::uint64_t continues = 0;
  for (int i = 0; i < 4; ++i) {
    const __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(at + 16 * i));
    const auto high_bits = static_cast<std::uint32_t>(_mm_movemask_epi8(bytes));
    continues |= static_cast<std::uint64_t>(high_bits) << (16 * i);
  }
  return ~continues;
}

#else

inline std::uint64_t varint_ends(const char* at) {
  std::uint64_t continues = 0;
  for (int i = 0; i < 8; ++i) {
    // Gathers the high bits of eight bytes into one byte.
    const std::uint64_t high = load_little<std::uint64_t>(at + 8 * i) & 0x8080808080808080U;
    continues |= ((high >> 7) * 0x0102040810204080U >> 56) << (8 * i);
  }
  return ~continues;
}

#endif

/// Returns the payload bits of a varint whose bytes are the low ones of `word`, with zeros above:
/// 3.3 ns a value in all.
std::uint64_t compress(std::uint64_t word) {
  word &= 0x7f7f7f7f7f7f7f7fU;
  word = (word & 0x007f007f007f007fU) | ((word & 0x7f007f007f007f00U) >> 1);
  word = (word & 0x00003fff00003fffU) | ((word & 0x3fff00003fff0000U) >> 2);
  return (word & 0x000000000fffffffU) | ((word & 0x0fffffff00000000U) >> 4);
}

std::uint64_t long_value(const char* at, std::size_t size) {
  return WireReader({at, size}).varint();
}

std::size_t unpack_block_anywhere(const char*& at, std::uint64_t* out) {
  std::uint64_t ends = varint_ends(at);
  std::size_t begin = 0;
  std::size_t count = 0;
  while (ends != 0) {
    const auto last = static_cast<std::size_t>(std::countr_zero(ends));
    const std::size_t size = last + 1 - begin;
    const std::uint64_t mask = ~std::uint64_t{0} >> ((64 - 8 * size) & 63);
    out[count++] = size <= 8 ? compress(load_little<std::uint64_t>(at + begin) & mask)
                             : long_value(at + begin, size);
    begin = last + 1;
    ends &= ends - 1;
  }
  if (begin == 0) fail_wire("an integer has more than ten bytes");
  at += begin;
  return count;
}

#if defined(__x86_64__)

/// Unpacks with one instruction for the compression.
__attribute__((target("bmi,bmi2"), always_inline)) inline std::size_t unpack_up_to(
    std::uint64_t ends, const char*& at, std::uint64_t* out) {
  std::size_t begin = 0;
  std::size_t count = 0;
  while (ends != 0) {
    const std::uint64_t last = _tzcnt_u64(ends);
    const std::size_t size = last + 1 - begin;
    const std::uint64_t mask = _bzhi_u64(0x7f7f7f7f7f7f7f7fU, static_cast<std::uint32_t>(8 * size));
    out[count++] = size <= 8 ? _pext_u64(load_little<std::uint64_t>(at + begin), mask)
                             : long_value(at + begin, size);
    begin = last + 1;
    ends = _blsr_u64(ends);
  }
  if (begin == 0) fail_wire("an integer has more than ten bytes");
  at += begin;
  return count;
}

__attribute__((target("bmi,bmi2"))) std::size_t unpack_block_bmi2(const char*& at,
                                                                  std::uint64_t* out) {
  return unpack_up_to(varint_ends(at), at, out);
}

/// Widens 64 values below 128: masks, padding, counts.
__attribute__((target("avx512f,avx512bw"), always_inline)) inline std::size_t widen_bytes(
    const char*& at, std::uint64_t* out) {
  for (std::size_t i = 0; i < 64; i += 8) {
    const __m128i eight = _mm_loadl_epi64(reinterpret_cast<const __m128i*>(at + i));
    _mm512_storeu_si512(out + i, _mm512_cvtepu8_epi64(eight));
  }
  at += 64;
  return 64;
}

/// Unpacks with one instruction for the ends.
__attribute__((target("avx512f,avx512bw,bmi,bmi2"))) std::size_t unpack_block_avx512(
    const char*& at, std::uint64_t* out) {
  const std::uint64_t continues = _mm512_movepi8_mask(_mm512_loadu_si512(at));
  return continues == 0 ? widen_bytes(at, out) : unpack_up_to(~continues, at, out);
}

#define INFEED_VBMI2 [[gnu::target("avx512f,avx512bw,avx512vbmi2,bmi,bmi2,lzcnt")]]

/// Returns byte `kPlace` of each varint that has so many, without its high bit, else 0. `starts`
/// marks the starts of varints in the 64 bytes at `at`. Bit i of `longer` marks varint i if it has
/// the byte; afterwards if it has one more.
template <int kPlace>
INFEED_VBMI2 inline __m512i plane(const char* at, std::uint64_t starts, std::uint64_t& longer) {
  const __m512i there = _mm512_maskz_loadu_epi8(~std::uint64_t{0} >> kPlace, at + kPlace);
  const __m512i bytes = _mm512_maskz_mov_epi8(longer, _mm512_maskz_compress_epi8(starts, there));
  longer = _mm512_movepi8_mask(bytes);
  return _mm512_and_si512(bytes, _mm512_set1_epi8(0x7f));
}

/// Joins the low and high seven bits of 32 values of at most 14 bits.
INFEED_VBMI2 inline __m512i join_bytes(__m256i low, __m256i high) {
  return _mm512_or_si512(_mm512_cvtepu8_epi16(low),
                         _mm512_slli_epi16(_mm512_cvtepu8_epi16(high), 7));
}

INFEED_VBMI2 inline void store_16_bits(__m512i values, std::uint64_t* out) {
  _mm512_storeu_si512(out, _mm512_cvtepu16_epi64(_mm512_castsi512_si128(values)));
  _mm512_storeu_si512(out + 8, _mm512_cvtepu16_epi64(_mm512_extracti32x4_epi32(values, 1)));
  _mm512_storeu_si512(out + 16, _mm512_cvtepu16_epi64(_mm512_extracti32x4_epi32(values, 2)));
  _mm512_storeu_si512(out + 24, _mm512_cvtepu16_epi64(_mm512_extracti32x4_epi32(values, 3)));
}

/// Joins the low and high 14 bits of 16 values of at most 28 bits.
INFEED_VBMI2 inline void store_28_bits(__m256i low, __m256i high, std::uint64_t* out) {
  const __m512i values = _mm512_or_si512(_mm512_cvtepu16_epi32(low),
                                         _mm512_slli_epi32(_mm512_cvtepu16_epi32(high), 14));
  _mm512_storeu_si512(out, _mm512_cvtepu32_epi64(_mm512_castsi512_si256(values)));
  _mm512_storeu_si512(out + 8, _mm512_cvtepu32_epi64(_mm512_extracti64x4_epi64(values, 1)));
}

INFEED_VBMI2 inline void store_28_bits(__m512i low, __m512i high, std::uint64_t* out) {
  store_28_bits(_mm512_castsi512_si256(low), _mm512_castsi512_si256(high), out);
  store_28_bits(_mm512_extracti64x4_epi64(low, 1), _mm512_extracti64x4_epi64(high, 1), out + 16);
}

INFEED_VBMI2 inline __m256i front(__m512i bytes) { return _mm512_castsi512_si256(bytes); }
INFEED_VBMI2 inline __m256i back(__m512i bytes) { return _mm512_extracti64x4_epi64(bytes, 1); }

/// Unpacks all values at once, by places: the first bytes of all varints become neighbours, and so
/// do their second ones. Token numbers of two bytes take 0.3 ns each instead of 1.2, of three bytes
/// 0.84. A block with a value of more than four bytes goes value by value.
INFEED_VBMI2 std::size_t unpack_block_vbmi2(const char*& at, std::uint64_t* out) {
  const std::uint64_t continues = _mm512_movepi8_mask(_mm512_loadu_si512(at));
  if (continues == 0) return widen_bytes(at, out);
  const std::uint64_t ends = ~continues;
  if ((continues & continues >> 1 & continues >> 2 & continues >> 3) != 0) {
    return unpack_up_to(ends, at, out);
  }
  const auto size = static_cast<std::uint32_t>(64 - std::countl_zero(ends));
  const auto count = static_cast<std::size_t>(std::popcount(ends));
  const std::uint64_t starts = _bzhi_u64(ends << 1 | 1, size);
  std::uint64_t longer = ~std::uint64_t{0};
  const __m512i first = plane<0>(at, starts, longer);
  const __m512i second = plane<1>(at, starts, longer);
  const __m512i low = join_bytes(front(first), front(second));
  if (longer == 0) {
    store_16_bits(low, out);
    if (count > 32) store_16_bits(join_bytes(back(first), back(second)), out + 32);
  } else {
    const __m512i third = plane<2>(at, starts, longer);
    const __m512i fourth = plane<3>(at, starts, longer);
    store_28_bits(low, join_bytes(front(third), front(fourth)), out);
    if (count > 32) {
      store_28_bits(join_bytes(back(first), back(second)), join_bytes(back(third), back(fourth)),
                    out + 32);
    }
  }
  at += size;
  return count;
}

#undef INFEED_VBMI2

#endif

}  // namespace

std::vector<UnpackBlock> unpack_block_forms() {
  std::vector<UnpackBlock> forms;
#if defined(__x86_64__)
  // On AMD's first two Zens pext is a slow program of micro-operations.
  const bool has_fast_pext = __builtin_cpu_supports("bmi2") != 0 &&
                             __builtin_cpu_is("znver1") == 0 && __builtin_cpu_is("znver2") == 0;
  const bool has_avx512 = has_fast_pext && __builtin_cpu_supports("avx512f") != 0 &&
                          __builtin_cpu_supports("avx512bw") != 0;
  if (has_avx512 && __builtin_cpu_supports("avx512vbmi2") != 0) {
    forms.push_back(&unpack_block_vbmi2);
  }
  if (has_avx512) forms.push_back(&unpack_block_avx512);
  if (has_fast_pext) forms.push_back(&unpack_block_bmi2);
#endif
  forms.push_back(&unpack_block_anywhere);
  return forms;
}

UnpackBlock choose_unpack_block() {
  static const UnpackBlock fastest = unpack_block_forms().front();
  return fastest;
}

}  // namespace infeed::detail
