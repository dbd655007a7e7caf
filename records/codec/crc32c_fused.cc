#include "codec/crc32c_fused.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include "codec/crc32c_factors.h"
#include "io/little_endian.h"

namespace infeed::detail {

#if defined(__x86_64__)
namespace {

// Four vectors of 32 bytes fold 4 KiB, and three chains of five words go over 1,280 bytes each:
// about as long for the one as for the other. Longer chunks gain nothing, shorter ones lose to the
// joining.
constexpr std::size_t kRounds = 32;
constexpr std::size_t kFoldBytes = 4 * 32;
constexpr std::size_t kChainBytes = 5 * 8;
constexpr std::size_t kFolded = kRounds * kFoldBytes;
constexpr std::size_t kChain = kRounds * kChainBytes;
static_assert(kFusedCrcChunkBytes == kFolded + 3 * kChain);

constexpr CrcMove kByRound = crc_move_by(kFoldBytes);
constexpr CrcMove kByVector = crc_move_by(32);
constexpr CrcMove kByHalf = crc_move_by(16);

// Only these functions may use the instructions: whoever calls them has asked the CPU.
#define INFEED_FUSED [[gnu::target("avx2,pclmul,vpclmulqdq,sse4.2")]]

INFEED_FUSED inline __m256i load(const char* from) {
  return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from));
}

INFEED_FUSED inline __m256i both_halves(CrcMove move) {
  return _mm256_broadcastsi128_si256(
      _mm_set_epi64x(static_cast<std::int64_t>(move.high), static_cast<std::int64_t>(move.low)));
}

/// `folded`, moved on, and what is there.
INFEED_FUSED inline __m256i fold(__m256i folded, __m256i move, __m256i there) {
  const __m256i low = _mm256_clmulepi64_epi128(folded, move, 0x00);
  const __m256i high = _mm256_clmulepi64_epi128(folded, move, 0x11);
  return _mm256_xor_si256(_mm256_xor_si256(low, high), there);
}

INFEED_FUSED inline std::uint64_t chain(std::uint64_t state, const char* from) {
  static_assert(kChainBytes == 5 * 8);
  state = _mm_crc32_u64(state, load_little<std::uint64_t>(from));
  state = _mm_crc32_u64(state, load_little<std::uint64_t>(from + 8));
  state = _mm_crc32_u64(state, load_little<std::uint64_t>(from + 16));
  state = _mm_crc32_u64(state, load_little<std::uint64_t>(from + 24));
  return _mm_crc32_u64(state, load_little<std::uint64_t>(from + 32));
}

/// The register behind the bytes that the four vectors stand for.
INFEED_FUSED inline std::uint64_t reduce(__m256i a, __m256i b, __m256i c, __m256i d) {
  const __m256i by_vector = both_halves(kByVector);
  const __m256i all = fold(fold(fold(a, by_vector, b), by_vector, c), by_vector, d);
  const __m128i by_half = _mm256_castsi256_si128(both_halves(kByHalf));
  const __m128i first = _mm256_castsi256_si128(all);
  const __m128i rest = _mm_xor_si128(_mm256_extracti128_si256(all, 1),
                                     _mm_xor_si128(_mm_clmulepi64_si128(first, by_half, 0x00),
                                                   _mm_clmulepi64_si128(first, by_half, 0x11)));
  const std::uint64_t state =
      _mm_crc32_u64(0, static_cast<std::uint64_t>(_mm_extract_epi64(rest, 0)));
  return _mm_crc32_u64(state, static_cast<std::uint64_t>(_mm_extract_epi64(rest, 1)));
}

/// The register moved on by so many zero bytes, before it is reduced to 32 bits by crc32.
template <std::size_t kBytes>
INFEED_FUSED inline __m128i moved(std::uint64_t state) {
  constexpr std::uint64_t kFactor = power_of_x(8 * kBytes - 32);
  return _mm_clmulepi64_si128(_mm_cvtsi64_si128(static_cast<std::int64_t>(state)),
                              _mm_cvtsi64_si128(static_cast<std::int64_t>(kFactor)), 0x00);
}

INFEED_FUSED std::uint32_t one_chunk(std::uint32_t state, const char* bytes) {
  const __m256i by_round = both_halves(kByRound);
  const char* first = bytes + kFolded;
  __m256i a = _mm256_xor_si256(load(bytes),
                               _mm256_zextsi128_si256(_mm_cvtsi32_si128(static_cast<int>(state))));
  __m256i b = load(bytes + 32);
  __m256i c = load(bytes + 64);
  __m256i d = load(bytes + 96);
  std::uint64_t chain_1 = chain(0, first);
  std::uint64_t chain_2 = chain(0, first + kChain);
  std::uint64_t chain_3 = chain(0, first + 2 * kChain);
  for (std::size_t round = 1; round < kRounds; ++round) {
    bytes += kFoldBytes;
    first += kChainBytes;
    a = fold(a, by_round, load(bytes));
    b = fold(b, by_round, load(bytes + 32));
    c = fold(c, by_round, load(bytes + 64));
    d = fold(d, by_round, load(bytes + 96));
    chain_1 = chain(chain_1, first);
    chain_2 = chain(chain_2, first + kChain);
    chain_3 = chain(chain_3, first + 2 * kChain);
  }
  const __m128i before_last = _mm_xor_si128(
      _mm_xor_si128(moved<3 * kChain>(reduce(a, b, c, d)), moved<2 * kChain>(chain_1)),
      moved<kChain>(chain_2));
  const auto joined = static_cast<std::uint64_t>(_mm_cvtsi128_si64(before_last));
  return static_cast<std::uint32_t>(_mm_crc32_u64(0, joined) ^ chain_3);
}

#undef INFEED_FUSED

}  // namespace

bool has_fused_crc32c() noexcept {
  // With AVX-512 crc32c_folded is quicker, and ISA-L's own kernel as quick.
  return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("sse4.2") &&
         __builtin_cpu_supports("pclmul") && __builtin_cpu_supports("vpclmulqdq") &&
         !__builtin_cpu_supports("avx512f");
}

std::uint32_t fused_crc32c(std::uint32_t state, const char* bytes, std::size_t chunks) noexcept {
  for (; chunks > 0; --chunks, bytes += kFusedCrcChunkBytes) state = one_chunk(state, bytes);
  return state;
}

#else

bool has_fused_crc32c() noexcept { return false; }

std::uint32_t fused_crc32c(std::uint32_t state, const char*, std::size_t) noexcept { return state; }

#endif

}  // namespace infeed::detail
