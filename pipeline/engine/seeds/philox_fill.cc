#include "engine/seeds/philox_fill.h"

#include <array>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace infeed::detail {
namespace {

#if defined(__x86_64__)

struct HighLow {
  __m256i high;
  __m256i low;
};

/// Returns the 64-bit products of eight 32-bit lanes with one multiplier. The instruction
/// multiplies only the even lanes, so the odd ones are shifted down, and the halves are put
/// together again.
[[gnu::target("avx2")]] HighLow multiply(__m256i lanes, __m256i multiplier) {
  const __m256i even = _mm256_mul_epu32(lanes, multiplier);
  const __m256i odd = _mm256_mul_epu32(_mm256_srli_epi64(lanes, 32), multiplier);
  constexpr int kOddLanes = 0xAA;
  return {_mm256_blend_epi32(_mm256_srli_epi64(even, 32), odd, kOddLanes),
          _mm256_blend_epi32(even, _mm256_slli_epi64(odd, 32), kOddLanes)};
}

[[gnu::target("avx2")]] inline __m256i broadcast(std::uint32_t word) {
  return _mm256_set1_epi32(static_cast<int>(word));
}

/// Stores one half in block n, which begins at `out`, and the other in block n+4.
[[gnu::target("avx2")]] inline void store_rows(std::uint32_t* out, __m256i rows) {
  _mm_storeu_si128(reinterpret_cast<__m128i*>(out), _mm256_castsi256_si128(rows));
  _mm_storeu_si128(reinterpret_cast<__m128i*>(out + 16), _mm256_extracti128_si256(rows, 1));
}

/// Computes blocks index .. index+7, which must not cross a multiple of 2^32.
[[gnu::target("avx2")]] void eight_blocks(const Philox::State& state, std::uint64_t index,
                                          std::uint32_t* out) {
  const __m256i multiplier0 = broadcast(0xD2511F53);
  const __m256i multiplier1 = broadcast(0xCD9E8D57);
  __m256i c0 = _mm256_add_epi32(broadcast(static_cast<std::uint32_t>(index)),
                                _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
  __m256i c1 = broadcast(static_cast<std::uint32_t>(index >> 32));
  __m256i c2 = broadcast(state.stream[0]);
  __m256i c3 = broadcast(state.stream[1]);
  std::uint32_t key0 = state.key[0];
  std::uint32_t key1 = state.key[1];
  for (int round = 0; round < 10; ++round) {
    const HighLow product0 = multiply(c0, multiplier0);
    const HighLow product1 = multiply(c2, multiplier1);
    c0 = _mm256_xor_si256(_mm256_xor_si256(product1.high, c1), broadcast(key0));
    c2 = _mm256_xor_si256(_mm256_xor_si256(product0.high, c3), broadcast(key1));
    c1 = product1.low;
    c3 = product0.low;
    key0 += 0x9E3779B9;
    key1 += 0xBB67AE85;
  }
  // Turns four columns of eight into eight rows of four. Each register holds two rows, those of
  // blocks n and n+4.
  const __m256i low01 = _mm256_unpacklo_epi32(c0, c1);
  const __m256i high01 = _mm256_unpackhi_epi32(c0, c1);
  const __m256i low23 = _mm256_unpacklo_epi32(c2, c3);
  const __m256i high23 = _mm256_unpackhi_epi32(c2, c3);
  store_rows(out, _mm256_unpacklo_epi64(low01, low23));
  store_rows(out + 4, _mm256_unpackhi_epi64(low01, low23));
  store_rows(out + 8, _mm256_unpacklo_epi64(high01, high23));
  store_rows(out + 12, _mm256_unpackhi_epi64(high01, high23));
}

bool has_avx2() {
  static const bool has = __builtin_cpu_supports("avx2") != 0;
  return has;
}

#endif

}  // namespace

void philox_fill(const Philox& generator, std::uint64_t position, std::span<std::uint32_t> out) {
  std::uint64_t index = position / 4;
  std::size_t i = 0;
#if defined(__x86_64__)
  if (has_avx2()) {
    const Philox::State state = generator.state();
    for (; i + 32 <= out.size() && (index & 0xFFFFFFFF) <= 0xFFFFFFF8; i += 32, index += 8) {
      eight_blocks(state, index, out.data() + i);
    }
  }
#endif
  for (; i < out.size(); i += 4, ++index) {
    const std::array<std::uint32_t, 4> block = generator.block(index);
    for (std::size_t word = 0; word < 4; ++word) out[i + word] = block[word];
  }
}

}  // namespace infeed::detail
