#include "codec/crc32c_folded.h"

#include <cstring>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include "codec/crc32c_factors.h"
#include "infeed/detail/large_memory.h"
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

// g++ 12 takes what the plain forms of these two leave out for uninitialised memory.
INFEED_FOLDED inline __m512i in_all_quarters(__m128i quarter) {
  return _mm512_maskz_broadcast_i32x4(static_cast<__mmask16>(-1), quarter);
}
template <int kIndex>
INFEED_FOLDED inline __m128i quarter(__m512i vector) {
  return _mm512_maskz_extracti32x4_epi32(static_cast<__mmask8>(-1), vector, kIndex);
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

/// Where the bytes go besides.
enum class To { nowhere, caches, memory };

/// Takes a vector off the front, and writes it to `to`, which goes behind it.
template <To kTo = To::nowhere>
INFEED_FOLDED inline __m512i take_vector(std::string_view& bytes, char*& to) {
  const __m512i vector = _mm512_loadu_si512(bytes.data());
  bytes.remove_prefix(kVectorBytes);
  if constexpr (kTo == To::caches) _mm512_storeu_si512(to, vector);
  if constexpr (kTo == To::memory) _mm512_stream_si512(reinterpret_cast<__m512i*>(to), vector);
  if constexpr (kTo != To::nowhere) to += kVectorBytes;
  return vector;
}
INFEED_FOLDED inline __m512i take_vector(std::string_view& bytes) {
  char* nowhere = nullptr;
  return take_vector<To::nowhere>(bytes, nowhere);
}

INFEED_FOLDED inline __m512i register_of(std::uint32_t state) {
  return _mm512_zextsi128_si512(_mm_cvtsi32_si128(static_cast<int>(state)));
}

struct Round {
  __m512i a, b, c, d;
};

template <To kTo>
INFEED_FOLDED inline Round first_round(std::uint32_t state, std::string_view& bytes, char*& to) {
  Round round;
  round.a = _mm512_xor_si512(take_vector<kTo>(bytes, to), register_of(state));
  round.b = take_vector<kTo>(bytes, to);
  round.c = take_vector<kTo>(bytes, to);
  round.d = take_vector<kTo>(bytes, to);
  return round;
}

/// The rounds that begin before the last `left` bytes of what there is.
template <To kTo>
INFEED_FOLDED inline void go_on(Round& round, std::string_view& bytes, std::size_t left,
                                char*& to) {
  const __m512i by_round = in_all_quarters(factors(kMoveByRound));
  while (bytes.size() >= left + kRoundBytes) {
    round.a = fold(round.a, by_round, take_vector<kTo>(bytes, to));
    round.b = fold(round.b, by_round, take_vector<kTo>(bytes, to));
    round.c = fold(round.c, by_round, take_vector<kTo>(bytes, to));
    round.d = fold(round.d, by_round, take_vector<kTo>(bytes, to));
  }
}

/// With the whole vectors that are left, as one vector.
INFEED_FOLDED inline __m512i join(const Round& round, std::string_view& bytes) {
  const __m512i by_vector = in_all_quarters(factors(kMoveByVector));
  __m512i folded = fold(fold(round.a, by_vector, round.b), by_vector, round.c);
  folded = fold(folded, by_vector, round.d);
  while (bytes.size() >= kVectorBytes) folded = fold(folded, by_vector, take_vector(bytes));
  return folded;
}

/// The whole vectors in front, of which there is at least one, as one vector.
INFEED_FOLDED [[gnu::always_inline]] inline __m512i fold_vectors(std::uint32_t state,
                                                                 std::string_view& bytes) {
  if (bytes.size() >= kRoundBytes) {
    char* nowhere = nullptr;
    Round round = first_round<To::nowhere>(state, bytes, nowhere);
    go_on<To::nowhere>(round, bytes, 0, nowhere);
    return join(round, bytes);
  }
  const __m512i by_vector = in_all_quarters(factors(kMoveByVector));
  __m512i folded = _mm512_xor_si512(take_vector(bytes), register_of(state));
  while (bytes.size() >= kVectorBytes) folded = fold(folded, by_vector, take_vector(bytes));
  return folded;
}

/// The same of what is left: 16 bytes at a time, and then the register itself.
INFEED_FOLDED inline std::uint32_t reduce(__m512i vectors, std::string_view& bytes) {
  const __m128i by_half = factors(kMoveByHalf);
  __m128i half = fold(quarter<0>(vectors), by_half, quarter<1>(vectors));
  half = fold(half, by_half, quarter<2>(vectors));
  half = fold(half, by_half, quarter<3>(vectors));
  for (; bytes.size() >= kHalfBytes; bytes.remove_prefix(kHalfBytes)) {
    half = fold(half, by_half, _mm_loadu_si128(reinterpret_cast<const __m128i*>(bytes.data())));
  }
  const std::uint64_t low =
      _mm_crc32_u64(0, static_cast<std::uint64_t>(_mm_extract_epi64(half, 0)));
  return static_cast<std::uint32_t>(
      _mm_crc32_u64(low, static_cast<std::uint64_t>(_mm_extract_epi64(half, 1))));
}

INFEED_FOLDED inline std::uint32_t go_over_few(std::uint32_t state, std::string_view bytes) {
  for (; bytes.size() >= sizeof(std::uint64_t); bytes.remove_prefix(sizeof(std::uint64_t))) {
    state =
        static_cast<std::uint32_t>(_mm_crc32_u64(state, load_little<std::uint64_t>(bytes.data())));
  }
  for (const char byte : bytes) state = _mm_crc32_u8(state, static_cast<unsigned char>(byte));
  return state;
}

INFEED_FOLDED std::uint32_t go_over(std::uint32_t state, std::string_view bytes) {
  if (bytes.size() >= kVectorBytes) state = reduce(fold_vectors(state, bytes), bytes);
  return go_over_few(state, bytes);
}

/// The first `copied` bytes, at least a round of them, go to `to`, too.
template <To kTo>
INFEED_FOLDED std::uint32_t go_over_copying(std::uint32_t state, std::string_view bytes,
                                            std::size_t copied, char* to) {
  const char* const begin = bytes.data();
  const std::size_t behind = bytes.size() - copied;
  char* at = to;
  Round round = first_round<kTo>(state, bytes, at);
  go_on<kTo>(round, bytes, behind, at);
  const auto written = static_cast<std::size_t>(at - to);
  std::memcpy(at, begin + written, copied - written);
  go_on<To::nowhere>(round, bytes, 0, at);
  state = reduce(join(round, bytes), bytes);
  return go_over_few(state, bytes);
}

#undef INFEED_FOLDED

}  // namespace

bool has_folded_crc32c() noexcept {
  return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") &&
         __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("vpclmulqdq") &&
         __builtin_cpu_supports("pclmul") && __builtin_cpu_supports("sse4.2");
}

std::uint32_t folded_crc32c(std::uint32_t state, const char* bytes, std::size_t size) noexcept {
  return go_over(state, {bytes, size});
}

std::uint32_t folded_crc32c_copying(std::uint32_t state, std::string_view bytes,
                                    std::string_view copied, char* to) noexcept {
  const bool is_large = copied.size() >= kLargeValueBytes;
  // Bytes that go past the caches go there in whole lines.
  const std::size_t lead = is_large ? (0 - reinterpret_cast<std::uintptr_t>(to)) % kVectorBytes : 0;
  std::memcpy(to, copied.data(), lead);
  copied.remove_prefix(lead);
  to += lead;
  const auto before = static_cast<std::size_t>(copied.data() - bytes.data());
  state = go_over(state, bytes.substr(0, before));
  bytes.remove_prefix(before);
  if (!is_large) return go_over_copying<To::caches>(state, bytes, copied.size(), to);
  state = go_over_copying<To::memory>(state, bytes, copied.size(), to);
  _mm_sfence();
  return state;
}

#else

bool has_folded_crc32c() noexcept { return false; }

std::uint32_t folded_crc32c(std::uint32_t state, const char*, std::size_t) noexcept {
  return state;
}

std::uint32_t folded_crc32c_copying(std::uint32_t state, std::string_view, std::string_view,
                                    char*) noexcept {
  return state;
}

#endif

}  // namespace infeed::detail
