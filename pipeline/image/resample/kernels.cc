#include "image/resample/kernels.h"

#include <algorithm>
#include <cstring>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

// Plain loops are compiled once per level: the compiler's vectors are as wide as the attribute of
// the function that a loop is inlined into allows.
#define INFEED_INLINE [[gnu::always_inline]] inline

namespace infeed::image {
namespace {

constexpr unsigned kRowShift = ResizePlan::kWeightBits - kLineBits;
constexpr unsigned kBlendShift = ResizePlan::kWeightBits + kLineBits;

template <std::size_t kChannels>
INFEED_INLINE void resize_channels(const std::uint8_t* row, const ResizePlan& plan,
                                   std::int16_t* line) {
  for (std::size_t output = 0; output < plan.outputs; ++output, line += kChannels) {
    std::array<std::int32_t, kChannels> sum;
    sum.fill(1 << (kRowShift - 1));
    const std::uint8_t* pixel = row + plan.first[output] * kChannels;
    for (std::size_t group = 0; group < plan.groups; ++group) {
      const std::int16_t* const weights = plan.weights_of(output, group);
      for (std::size_t tap = 0; tap < ResizePlan::kGroup; ++tap, pixel += kChannels) {
        if (weights[tap] == 0) continue;  // it may lie past the row's end
        for (std::size_t c = 0; c < kChannels; ++c) sum[c] += weights[tap] * pixel[c];
      }
    }
    for (std::size_t c = 0; c < kChannels; ++c) {
      line[c] = static_cast<std::int16_t>(sum[c] >> kRowShift);
    }
  }
}

INFEED_INLINE void resize_any(const std::uint8_t* row, std::size_t channels, const ResizePlan& plan,
                              std::int16_t* line) {
  switch (channels) {
    case 1:
      return resize_channels<1>(row, plan, line);
    case 2:
      return resize_channels<2>(row, plan, line);
    case 3:
      return resize_channels<3>(row, plan, line);
    default:
      return resize_channels<4>(row, plan, line);
  }
}

INFEED_INLINE void blend_any(const std::int16_t* const* lines, const std::int16_t* weights,
                             std::size_t taps, std::size_t count, std::uint8_t* out) {
  constexpr std::size_t kBlock = 64;
  for (std::size_t at = 0; at < count; at += kBlock) {
    const std::size_t size = std::min(kBlock, count - at);
    std::array<std::int32_t, kBlock> sum;
    sum.fill(1 << (kBlendShift - 1));
    for (std::size_t tap = 0; tap < taps; ++tap) {
      const std::int16_t* const line = lines[tap] + at;
      for (std::size_t i = 0; i < size; ++i) sum[i] += weights[tap] * line[i];
    }
    for (std::size_t i = 0; i < size; ++i) {
      out[at + i] = static_cast<std::uint8_t>(sum[i] >> kBlendShift);
    }
  }
}

template <class Out, class Round>
INFEED_INLINE void scale_any(const std::uint8_t* row, const ChannelScales& scales,
                             std::size_t count, Out* out, Round round) {
  constexpr std::size_t kPeriod = ChannelScales::kPeriod;
  std::size_t at = 0;
  for (; at + kPeriod <= count; at += kPeriod) {
    for (std::size_t i = 0; i < kPeriod; ++i) {
      out[at + i] = round(static_cast<float>(row[at + i]) * scales.scale[i] + scales.offset[i]);
    }
  }
  for (std::size_t i = 0; at + i < count; ++i) {
    out[at + i] = round(static_cast<float>(row[at + i]) * scales.scale[i] + scales.offset[i]);
  }
}

void resize_row_portable(const std::uint8_t* row, std::size_t channels, const ResizePlan& plan,
                         std::int16_t* line) {
  resize_any(row, channels, plan, line);
}
void blend_lines_portable(const std::int16_t* const* lines, const std::int16_t* weights,
                          std::size_t taps, std::size_t count, std::uint8_t* out) {
  blend_any(lines, weights, taps, count, out);
}
void to_float_portable(const std::uint8_t* row, const ChannelScales& scales, std::size_t count,
                       float* out) {
  scale_any(row, scales, count, out, [](float value) { return value; });
}
void to_bfloat16_portable(const std::uint8_t* row, const ChannelScales& scales, std::size_t count,
                          bfloat16* out) {
  scale_any(row, scales, count, out, [](float value) { return bfloat16(value); });
}

#if defined(__x86_64__)

#define INFEED_AVX2 [[gnu::target("avx2")]]
#define INFEED_AVX512 [[gnu::target("avx512f,avx512bw,avx512vl")]]

/// Computes the outputs from `output` on that don't fill a vector.
void resize_rgb_rest(const std::uint8_t* row, const ResizePlan& plan, std::size_t output,
                     std::int16_t* line) {
  for (; output < plan.outputs; ++output, line += 3) {
    std::array<std::int32_t, 3> sum;
    sum.fill(1 << (kRowShift - 1));
    const std::uint8_t* pixel = row + std::size_t{plan.first[output]} * 3;
    for (std::size_t group = 0; group < plan.groups; ++group, pixel += 12) {
      const std::int16_t* const weights = plan.weights_of(output, group);
      for (std::size_t i = 0; i < 12; ++i) sum[i % 3] += weights[i / 3] * pixel[i];
    }
    for (std::size_t c = 0; c < 3; ++c) {
      line[c] = static_cast<std::int16_t>(sum[c] >> kRowShift);
    }
  }
}

// ---- AVX2 ----

/// Computes two outputs at once, one in each half of the vector. Pixels of three bytes are spread
/// so that neighbours of a channel stand side by side, as 16 bits: red 0, red 1, green 0, green
/// 1...
INFEED_AVX2 void resize_rgb_avx2(const std::uint8_t* row, const ResizePlan& plan,
                                 std::int16_t* line) {
  const __m256i spread01 = _mm256_broadcastsi128_si256(
      _mm_setr_epi8(0, -1, 3, -1, 1, -1, 4, -1, 2, -1, 5, -1, -1, -1, -1, -1));
  const __m256i spread23 = _mm256_broadcastsi128_si256(
      _mm_setr_epi8(6, -1, 9, -1, 7, -1, 10, -1, 8, -1, 11, -1, -1, -1, -1, -1));
  const __m256i weights01 = _mm256_setr_epi32(0, 0, 0, 0, 2, 2, 2, 2);
  const __m256i weights23 = _mm256_setr_epi32(1, 1, 1, 1, 3, 3, 3, 3);
  const std::size_t stride = plan.outputs * ResizePlan::kGroup;
  std::size_t output = 0;
  for (; output + 2 <= plan.outputs; output += 2, line += 6) {
    const std::uint8_t* one = row + std::size_t{plan.first[output]} * 3;
    const std::uint8_t* two = row + std::size_t{plan.first[output + 1]} * 3;
    const std::int16_t* weights = plan.weights_of(output, 0);
    __m256i sum = _mm256_set1_epi32(1 << (kRowShift - 1));
    for (std::size_t group = 0; group < plan.groups; ++group) {
      const __m256i pixels = _mm256_inserti128_si256(
          _mm256_castsi128_si256(_mm_loadu_si128(reinterpret_cast<const __m128i*>(one))),
          _mm_loadu_si128(reinterpret_cast<const __m128i*>(two)), 1);
      const __m256i both =
          _mm256_castsi128_si256(_mm_loadu_si128(reinterpret_cast<const __m128i*>(weights)));
      sum = _mm256_add_epi32(sum, _mm256_madd_epi16(_mm256_shuffle_epi8(pixels, spread01),
                                                    _mm256_permutevar8x32_epi32(both, weights01)));
      sum = _mm256_add_epi32(sum, _mm256_madd_epi16(_mm256_shuffle_epi8(pixels, spread23),
                                                    _mm256_permutevar8x32_epi32(both, weights23)));
      one += 12;
      two += 12;
      weights += stride;
    }
    sum = _mm256_srai_epi32(sum, kRowShift);
    const __m256i packed = _mm256_packs_epi32(sum, sum);
    // Three of the four values count: the next output overwrites the fourth.
    _mm_storel_epi64(reinterpret_cast<__m128i*>(line), _mm256_castsi256_si128(packed));
    _mm_storel_epi64(reinterpret_cast<__m128i*>(line + 3), _mm256_extracti128_si256(packed, 1));
  }
  resize_rgb_rest(row, plan, output, line);
}

INFEED_AVX2 void resize_row_avx2(const std::uint8_t* row, std::size_t channels,
                                 const ResizePlan& plan, std::int16_t* line) {
  if (channels == 3) return resize_rgb_avx2(row, plan, line);
  resize_any(row, channels, plan, line);
}

/// Computes 32 values at once, from two lines at a time. Neighbours of a column stand side by side
/// for the multiplication that adds pairs.
INFEED_AVX2 void blend_lines_avx2(const std::int16_t* const* lines, const std::int16_t* weights,
                                  std::size_t taps, std::size_t count, std::uint8_t* out) {
  for (std::size_t at = 0; at < count; at += 32) {
    __m256i sum0 = _mm256_set1_epi32(1 << (kBlendShift - 1));
    __m256i sum1 = sum0;
    __m256i sum2 = sum0;
    __m256i sum3 = sum0;
    for (std::size_t tap = 0; tap < taps; tap += 2) {
      std::int32_t pair;
      std::memcpy(&pair, weights + tap, sizeof(pair));
      const __m256i weight = _mm256_set1_epi32(pair);
      const std::int16_t* const one = lines[tap] + at;
      const std::int16_t* const two = lines[tap + 1] + at;
      const __m256i a = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(one));
      const __m256i b = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(two));
      const __m256i c = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(one + 16));
      const __m256i d = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(two + 16));
      sum0 = _mm256_add_epi32(sum0, _mm256_madd_epi16(_mm256_unpacklo_epi16(a, b), weight));
      sum1 = _mm256_add_epi32(sum1, _mm256_madd_epi16(_mm256_unpackhi_epi16(a, b), weight));
      sum2 = _mm256_add_epi32(sum2, _mm256_madd_epi16(_mm256_unpacklo_epi16(c, d), weight));
      sum3 = _mm256_add_epi32(sum3, _mm256_madd_epi16(_mm256_unpackhi_epi16(c, d), weight));
    }
    const __m256i low = _mm256_packs_epi32(_mm256_srai_epi32(sum0, kBlendShift),
                                           _mm256_srai_epi32(sum1, kBlendShift));
    const __m256i high = _mm256_packs_epi32(_mm256_srai_epi32(sum2, kBlendShift),
                                            _mm256_srai_epi32(sum3, kBlendShift));
    const __m256i bytes = _mm256_permute4x64_epi64(_mm256_packus_epi16(low, high), 0xD8);
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(out + at), bytes);
  }
}

INFEED_AVX2 void to_float_avx2(const std::uint8_t* row, const ChannelScales& scales,
                               std::size_t count, float* out) {
  scale_any(row, scales, count, out, [](float value) { return value; });
}
INFEED_AVX2 void to_bfloat16_avx2(const std::uint8_t* row, const ChannelScales& scales,
                                  std::size_t count, bfloat16* out) {
  scale_any(row, scales, count, out, [](float value) { return bfloat16(value); });
}

// ---- AVX-512 ----

/// Works as with AVX2, with four outputs at once.
INFEED_AVX512 void resize_rgb_avx512(const std::uint8_t* row, const ResizePlan& plan,
                                     std::int16_t* line) {
  const __m512i spread01 = _mm512_broadcast_i32x4(
      _mm_setr_epi8(0, -1, 3, -1, 1, -1, 4, -1, 2, -1, 5, -1, -1, -1, -1, -1));
  const __m512i spread23 = _mm512_broadcast_i32x4(
      _mm_setr_epi8(6, -1, 9, -1, 7, -1, 10, -1, 8, -1, 11, -1, -1, -1, -1, -1));
  const __m512i weights01 = _mm512_setr_epi32(0, 0, 0, 0, 2, 2, 2, 2, 4, 4, 4, 4, 6, 6, 6, 6);
  const __m512i weights23 = _mm512_setr_epi32(1, 1, 1, 1, 3, 3, 3, 3, 5, 5, 5, 5, 7, 7, 7, 7);
  // Keeps three of four values, so twelve values in a row.
  const __m512i dense = _mm512_setr_epi32(0x10000, 0x80002, 0xA0009, 0x110010, 0x180012, 0x1A0019,
                                          0, 0, 0, 0, 0, 0, 0, 0, 0, 0);
  const std::size_t stride = plan.outputs * ResizePlan::kGroup;
  const auto load = [](const std::uint8_t* at) {
    return _mm_loadu_si128(reinterpret_cast<const __m128i*>(at));
  };
  std::size_t output = 0;
  for (; output + 4 <= plan.outputs; output += 4, line += 12) {
    const std::uint32_t* const first = plan.first.data() + output;
    const std::int16_t* weights = plan.weights_of(output, 0);
    const std::uint8_t* from = row;
    __m512i sum = _mm512_set1_epi32(1 << (kRowShift - 1));
    for (std::size_t group = 0; group < plan.groups; ++group, from += 12, weights += stride) {
      __m512i pixels = _mm512_castsi128_si512(load(from + std::size_t{first[0]} * 3));
      pixels = _mm512_inserti32x4(pixels, load(from + std::size_t{first[1]} * 3), 1);
      pixels = _mm512_inserti32x4(pixels, load(from + std::size_t{first[2]} * 3), 2);
      pixels = _mm512_inserti32x4(pixels, load(from + std::size_t{first[3]} * 3), 3);
      const __m512i all =
          _mm512_castsi256_si512(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(weights)));
      sum = _mm512_add_epi32(sum, _mm512_madd_epi16(_mm512_shuffle_epi8(pixels, spread01),
                                                    _mm512_permutexvar_epi32(weights01, all)));
      sum = _mm512_add_epi32(sum, _mm512_madd_epi16(_mm512_shuffle_epi8(pixels, spread23),
                                                    _mm512_permutexvar_epi32(weights23, all)));
    }
    sum = _mm512_srai_epi32(sum, kRowShift);
    const __m512i values = _mm512_permutexvar_epi16(dense, _mm512_packs_epi32(sum, sum));
    // Stores four values more, which the next outputs overwrite.
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(line), _mm512_castsi512_si256(values));
  }
  resize_rgb_rest(row, plan, output, line);
}

INFEED_AVX512 void resize_row_avx512(const std::uint8_t* row, std::size_t channels,
                                     const ResizePlan& plan, std::int16_t* line) {
  if (channels == 3) return resize_rgb_avx512(row, plan, line);
  resize_any(row, channels, plan, line);
}

INFEED_AVX512 void blend_lines_avx512(const std::int16_t* const* lines, const std::int16_t* weights,
                                      std::size_t taps, std::size_t count, std::uint8_t* out) {
  for (std::size_t at = 0; at < count; at += 32) {
    __m512i sum0 = _mm512_set1_epi32(1 << (kBlendShift - 1));
    __m512i sum1 = sum0;
    for (std::size_t tap = 0; tap < taps; tap += 2) {
      std::int32_t pair;
      std::memcpy(&pair, weights + tap, sizeof(pair));
      const __m512i weight = _mm512_set1_epi32(pair);
      const __m512i a = _mm512_loadu_si512(lines[tap] + at);
      const __m512i b = _mm512_loadu_si512(lines[tap + 1] + at);
      sum0 = _mm512_add_epi32(sum0, _mm512_madd_epi16(_mm512_unpacklo_epi16(a, b), weight));
      sum1 = _mm512_add_epi32(sum1, _mm512_madd_epi16(_mm512_unpackhi_epi16(a, b), weight));
    }
    const __m512i words = _mm512_packs_epi32(_mm512_srai_epi32(sum0, kBlendShift),
                                             _mm512_srai_epi32(sum1, kBlendShift));
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(out + at), _mm512_cvtepi16_epi8(words));
  }
}

INFEED_AVX512 void to_float_avx512(const std::uint8_t* row, const ChannelScales& scales,
                                   std::size_t count, float* out) {
  scale_any(row, scales, count, out, [](float value) { return value; });
}
INFEED_AVX512 void to_bfloat16_avx512(const std::uint8_t* row, const ChannelScales& scales,
                                      std::size_t count, bfloat16* out) {
  scale_any(row, scales, count, out, [](float value) { return bfloat16(value); });
}

#endif

constexpr Kernels kPortable{resize_row_portable, blend_lines_portable, to_float_portable,
                            to_bfloat16_portable};
#if defined(__x86_64__)
constexpr Kernels kAvx2{resize_row_avx2, blend_lines_avx2, to_float_avx2, to_bfloat16_avx2};
constexpr Kernels kAvx512{resize_row_avx512, blend_lines_avx512, to_float_avx512,
                          to_bfloat16_avx512};
#endif

}  // namespace

std::vector<SimdLevel> simd_levels() {
  std::vector<SimdLevel> levels{SimdLevel::portable};
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx2")) levels.push_back(SimdLevel::avx2);
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
      __builtin_cpu_supports("avx512vl")) {
    levels.push_back(SimdLevel::avx512);
  }
#endif
  return levels;
}

const Kernels& kernels_of(SimdLevel level) {
#if defined(__x86_64__)
  if (level == SimdLevel::avx512) return kAvx512;
  if (level == SimdLevel::avx2) return kAvx2;
#endif
  static_cast<void>(level);
  return kPortable;
}

const Kernels& best_kernels() {
  static const Kernels& best = kernels_of(simd_levels().back());
  return best;
}

}  // namespace infeed::image
