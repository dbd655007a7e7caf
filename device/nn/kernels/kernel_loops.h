#pragma once

#include <cstdint>

#include "kernels.h"

// The loops behind kernels.h. Files that are compiled for one instruction set include the two, the
// compiler's intrinsics and nothing else: the linker could keep an inline function of another
// header, compiled there, for the whole program. Everything here is local to the file.

namespace infeed::detail {
namespace {

/// Lanes: a vector type with kWidth, load, store, broadcast and fma.
template <class Lanes, int kRows>
void product_tile(std::int64_t depth, const float* a, const float* b, float* c,
                  std::int64_t c_row_stride, bool accumulate) {
  using Vector = typename Lanes::Vector;
  constexpr int kWidth = Lanes::kWidth;
  Vector sums[kRows][2];
  for (int i = 0; i < kRows; ++i) {
    sums[i][0] = accumulate ? Lanes::load(c + i * c_row_stride) : Lanes::broadcast(0.0F);
    sums[i][1] = accumulate ? Lanes::load(c + i * c_row_stride + kWidth) : Lanes::broadcast(0.0F);
  }
  for (std::int64_t k = 0; k < depth; ++k, a += kRows, b += 2 * kWidth) {
    const Vector b0 = Lanes::load(b);
    const Vector b1 = Lanes::load(b + kWidth);
    for (int i = 0; i < kRows; ++i) {
      const Vector factor = Lanes::broadcast(a[i]);
      sums[i][0] = Lanes::fma(factor, b0, sums[i][0]);
      sums[i][1] = Lanes::fma(factor, b1, sums[i][1]);
    }
  }
  for (int i = 0; i < kRows; ++i) {
    Lanes::store(c + i * c_row_stride, sums[i][0]);
    Lanes::store(c + i * c_row_stride + kWidth, sums[i][1]);
  }
}

[[gnu::always_inline]] inline float power_of_two(std::int32_t n) {
  return __builtin_bit_cast(float, (n + 127) << 23);
}

/// exp(x), with an error below 2 units in the last place. 0 below -104, infinity above 89, NaN of
/// NaN.
[[gnu::always_inline]] inline float exp_of(float x) {
  constexpr float kLog2E = 1.44269504F;
  constexpr float kLn2High = 0.693145752F;  // its low bits are 0: n * it is exact
  constexpr float kLn2Low = 1.42860677e-6F;
  constexpr float kRound = 12582912.0F;  // 1.5 * 2^23: adding it rounds to a whole number
  float bounded = x > 89.0F ? 89.0F : x;
  bounded = bounded < -104.0F ? -104.0F : bounded;
  const float shifted = bounded * kLog2E + kRound;
  const float n = shifted - kRound;
  const std::int32_t whole = __builtin_bit_cast(std::int32_t, shifted) - 0x4b400000;
  const float r = (bounded - n * kLn2High) - n * kLn2Low;
  float sum = 1.98412698e-4F;
  sum = sum * r + 1.38888889e-3F;
  sum = sum * r + 8.33333333e-3F;
  sum = sum * r + 4.16666667e-2F;
  sum = sum * r + 1.66666667e-1F;
  sum = sum * r + 0.5F;
  sum = sum * (r * r) + r + 1.0F;
  // Two steps, since the power alone may be no normal number.
  const std::int32_t half = whole >> 1;
  return sum * power_of_two(half) * power_of_two(whole - half);
}

[[gnu::always_inline]] inline float magnitude_of(float x) {
  return __builtin_bit_cast(float, __builtin_bit_cast(std::int32_t, x) & 0x7fffffff);
}
[[gnu::always_inline]] inline float with_sign_of(float value, float x) {
  return __builtin_bit_cast(float,
                            __builtin_bit_cast(std::int32_t, value) |
                                (__builtin_bit_cast(std::int32_t, x) & ~std::int32_t{0x7fffffff}));
}

/// tanh(x): below 0.625 a polynomial (that of Cephes), above it by exp.
[[gnu::always_inline]] inline float tanh_of(float x) {
  const float t = magnitude_of(x);
  const float s = x * x;
  float small = -5.70498872745e-3F;
  small = small * s + 2.06390887954e-2F;
  small = small * s + -5.37397155531e-2F;
  small = small * s + 1.33314422036e-1F;
  small = small * s + -3.33332819422e-1F;
  small = small * s * x + x;
  const float large = with_sign_of(1.0F - 2.0F / (exp_of(2.0F * t) + 1.0F), x);
  return t < 0.625F ? small : large;
}

/// erf(x): two polynomials that meet at 475/512, the one for large arguments in the exponent.
[[gnu::always_inline]] inline float erf_of(float x) {
  const float t = magnitude_of(x);
  const float s = x * x;
  float small = -5.96761703e-4F;
  small = small * s + 4.99119423e-3F;
  small = small * s + -2.67681349e-2F;
  small = small * s + 1.12819925e-1F;
  small = small * s + -3.76125336e-1F;
  small = small * s + 1.28379166e-1F;
  small = small * x + x;
  float exponent = -1.72853470e-5F * t + 3.83197126e-4F;
  exponent = exponent * s + (-3.88396438e-3F * t + 2.42546219e-2F);
  exponent = exponent * t + -1.06777877e-1F;
  exponent = exponent * t + -6.34846687e-1F;
  exponent = exponent * t + -1.28717512e-1F;
  exponent = exponent * t - t;
  // Beyond 4, erf is 1 in float32, and the polynomial would leave its range.
  const float large = t > 4.0F ? 1.0F : 1.0F - exp_of(exponent);
  const float result = t > 0.927734375F ? with_sign_of(large, x) : small;
  return x != x ? x : result;
}

/// Rounds to 8 bits, to nearest even, as bfloat16 does; a NaN stays one.
[[gnu::always_inline]] inline float bfloat16_of(float x) {
  const std::uint32_t bits = __builtin_bit_cast(std::uint32_t, x);
  const std::uint32_t rounded = bits + 0x7fffU + ((bits >> 16) & 1U);
  const bool nan = (bits & 0x7fffffffU) > 0x7f800000U;
  return __builtin_bit_cast(float, (nan ? (bits | 0x00400000U) : rounded) & 0xffff0000U);
}

/// Rounds to 11 bits, to nearest even, as float16 does.
[[gnu::always_inline]] inline float float16_of(float x) {
  constexpr float kUnits = 0.75F;  // sums with it are rounded to multiples of 2^-24
  const std::uint32_t bits = __builtin_bit_cast(std::uint32_t, x);
  const std::uint32_t sign = bits & 0x80000000U;
  const std::uint32_t magnitude = bits & 0x7fffffffU;
  const float t = __builtin_bit_cast(float, magnitude);
  const std::uint32_t subnormal = __builtin_bit_cast(std::uint32_t, (t + kUnits) - kUnits);
  const std::uint32_t rounded = (magnitude + 0xfffU + ((magnitude >> 13) & 1U)) & 0xffffe000U;
  std::uint32_t result = rounded > 0x477fe000U ? 0x7f800000U : rounded;  // 65504 is the largest
  result = magnitude < 0x38800000U ? subnormal : result;                 // 2^-14
  result = magnitude > 0x7f800000U ? 0x7fc00000U : result;
  return __builtin_bit_cast(float, result | sign);
}

/// y[i] = kFunction(x[i]).
template <float (*kFunction)(float)>
void all_of(std::int64_t count, const float* x, float* y) {
  for (std::int64_t i = 0; i < count; ++i) y[i] = kFunction(x[i]);
}

/// Returns the kernels with tiles of kRows rows, each of two vectors.
template <class Lanes, int kRows>
Kernels kernels_of() {
  return {.rows = kRows,
          .columns = 2 * Lanes::kWidth,
          .product = product_tile<Lanes, kRows>,
          .exp = all_of<exp_of>,
          .tanh = all_of<tanh_of>,
          .erf = all_of<erf_of>,
          .bfloat16 = all_of<bfloat16_of>,
          .float16 = all_of<float16_of>};
}

}  // namespace
}  // namespace infeed::detail
