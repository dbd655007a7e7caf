#include "codec/crc32c_folded.h"

#include <string_view>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include "codec/crc32c_factors.h"
#include "io/little_endian.h"

namespace infeed::detail {

#if defined(__x86_64__)
namespace {

constexpr std::size_t kVectorBytes = sizeof(__m512i);
constexpr std::size_t kHalfBytes = sizeof(__m128i);
// Four folds don't wait for each other: as many as it takes to keep the multiplier busy.
constexpr std::size_t kRoundBytes = 4 * kVectorBytes;
constexpr CrcMove kMoveByRound = crc_move_by(kRoundBytes);
constexpr CrcMove kMoveByVector = crc_move_by(kVectorBytes);
constexpr CrcMove kMoveByHalf = crc_move_by(kHalfBytes);

// Only these functions may use the instructions: whoever calls them has asked the CPU.
#define INFEED_FOLDED [[gnu::target("avx512f,avx512vl,avx512dq,vpclmulqdq,pclmul,sse4.2")]]

INFEED_FOLDED inline __m128i factors(CrcMove move) {
  return _mm_set_epi64x(static_cast<std::int64_t>(move.high), static_cast<std::int64_t>(move.low));
}

/// `folded`, moved on, and what is there.
INFEED_FOLDED inline __m512i fold(__m512i folded, __m512i move, __m512i there) {
  constexpr int kXorOfThree = 0x96;
  return _mm512_ternarylogic_epi64(_mm512_clmulepi64_epi128(folded, move, 0x00),
                                   _mm512_clmulepi64_epi128(folded, move, 0x11), there,
                                   kXorOfThree);
}
INFEED_FOLDED inline __m128i fold(__m128i folded, __m128i move, __m128i there) {
  return _mm_xor_si128(_mm_xor_si128(_mm_clmulepi64_si128(folded, move, 0x00),
                                     _mm_clmulepi64_si128(folded, move, 0x11)),
                       there);
}

/// Takes a vector off the front.
INFEED_FOLDED inline __m512i take_vector(std::string_view& bytes) {
  const __m512i vector = _mm512_loadu_si512(bytes.data());
  bytes.remove_prefix(kVectorBytes);
  return vector;
}

/// The whole vectors in front, of which there is at least one, as one vector.
INFEED_FOLDED inline __m512i fold_vectors(std::uint32_t state, std::string_view& bytes) {
  const __m512i begin = _mm512_zextsi128_si512(_mm_cvtsi32_si128(static_cast<int>(state)));
  const __m512i by_vector = _mm512_broadcast_i32x4(factors(kMoveByVector));
  __m512i folded = _mm512_xor_si512(take_vector(bytes), begin);
  if (bytes.size() >= kRoundBytes - kVectorBytes) {
    const __m512i by_round = _mm512_broadcast_i32x4(factors(kMoveByRound));
    __m512i b = take_vector(bytes);
    __m512i c = take_vector(bytes);
    __m512i d = take_vector(bytes);
    while (bytes.size() >= kRoundBytes) {
      folded = fold(folded, by_round, take_vector(bytes));
      b = fold(b, by_round, take_vector(bytes));
      c = fold(c, by_round, take_vector(bytes));
      d = fold(d, by_round, take_vector(bytes));
    }
    folded = fold(fold(fold(folded, by_vector, b), by_vector, c), by_vector, d);
  }
  while (bytes.size() >= kVectorBytes) folded = fold(folded, by_vector, take_vector(bytes));
  return folded;
}

/// The same of what is left: 16 bytes at a time, and then the register itself.
INFEED_FOLDED inline std::uint32_t reduce(__m512i vectors, std::string_view& bytes) {
  const __m128i by_half = factors(kMoveByHalf);
  __m128i half =
      fold(_mm512_extracti32x4_epi32(vectors, 0), by_half, _mm512_extracti32x4_epi32(vectors, 1));
  half = fold(half, by_half, _mm512_extracti32x4_epi32(vectors, 2));
  half = fold(half, by_half, _mm512_extracti32x4_epi32(vectors, 3));
  for (; bytes.size() >= kHalfBytes; bytes.remove_prefix(kHalfBytes)) {
    half = fold(half, by_half, _mm_loadu_si128(reinterpret_cast<const __m128i*>(bytes.data())));
  }
  const std::uint64_t low =
      _mm_crc32_u64(0, static_cast<std::uint64_t>(_mm_extract_epi64(half, 0)));
  return static_cast<std::uint32_t>(
      _mm_crc32_u64(low, static_cast<std::uint64_t>(_mm_extract_epi64(half, 1))));
}

INFEED_FOLDED std::uint32_t go_over(std::uint32_t state, const char* begin, std::size_t size) {
  std::string_view bytes(begin, size);
  if (bytes.size() >= kVectorBytes) state = reduce(fold_vectors(state, bytes), bytes);
  for (; bytes.size() >= sizeof(std::uint64_t); bytes.remove_prefix(sizeof(std::uint64_t))) {
    state =
        static_cast<std::uint32_t>(_mm_crc32_u64(state, load_little<std::uint64_t>(bytes.data())));
  }
  for (const char byte : bytes) state = _mm_crc32_u8(state, static_cast<unsigned char>(byte));
  return state;
}

#undef INFEED_FOLDED

}  // namespace

bool has_folded_crc32c() noexcept {
  return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") &&
         __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("vpclmulqdq") &&
         __builtin_cpu_supports("pclmul") && __builtin_cpu_supports("sse4.2");
}

std::uint32_t folded_crc32c(std::uint32_t state, const char* bytes, std::size_t size) noexcept {
  return go_over(state, bytes, size);
}

#else

bool has_folded_crc32c() noexcept { return false; }

std::uint32_t folded_crc32c(std::uint32_t state, const char*, std::size_t) noexcept {
  return state;
}

#endif

}  // namespace infeed::detail
