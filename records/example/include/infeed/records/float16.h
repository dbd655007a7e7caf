#pragma once

#include <bit>
#include <cstdint>

/// Why: GPUs and NumPy know IEEE 754's half precision: 5 bits of exponent and 11 of precision.
/// Features and images that are small numbers need half the bytes in it.
///
///     infeed::float16 h(1.0f / 3);      // rounds to nearest, ties to even
///     float f = static_cast<float>(h);  // exact
///
/// It is trivially copyable and has two bytes, in the layout of NumPy's float16. A number beyond
/// 65504 rounds to infinity (from 65520 on), a NaN stays a NaN (quiet), subnormals are kept.
namespace infeed {

struct float16 {
  std::uint16_t bits;  ///< holds anything until it is initialised, like a float

  constexpr float16() = default;
  explicit constexpr float16(float value) : bits(round_bits(std::bit_cast<std::uint32_t>(value))) {}
  explicit constexpr operator float() const {
    const std::uint32_t sign = (bits & 0x8000U) << 16;
    const std::uint32_t exponent = (bits >> 10) & 0x1fU;
    const std::uint32_t fraction = bits & 0x3ffU;
    if (exponent == 0) {
      // A float32 holds these subnormals as normal numbers: multiples of 2^-24.
      const auto magnitude = std::bit_cast<std::uint32_t>(static_cast<float>(fraction) * 0x1p-24F);
      return std::bit_cast<float>(sign | magnitude);
    }
    const std::uint32_t wide_exponent = exponent == 0x1fU ? 0xffU : exponent + 112U;
    return std::bit_cast<float>(sign | wide_exponent << 23 | fraction << 13);
  }

  static constexpr float16 from_bits(std::uint16_t bits) {
    float16 value;
    value.bits = bits;
    return value;
  }

  /// Compares by value, as numbers: -0 equals 0, NaN equals nothing.
  friend constexpr bool operator==(float16 a, float16 b) {
    return static_cast<float>(a) == static_cast<float>(b);
  }

 private:
  static constexpr std::uint16_t round_bits(std::uint32_t f) {
    const auto sign = static_cast<std::uint16_t>((f >> 16) & 0x8000U);
    f &= 0x7fff'ffffU;
    std::uint32_t magnitude = 0;
    if (f >= 0x4780'0000U) {  // 2^16 and more: infinity, or a NaN, which keeps its upper bits
      magnitude = f > 0x7f80'0000U ? 0x7e00U | ((f >> 13) & 0x3ffU) : 0x7c00U;
    } else if (f < 0x3880'0000U) {
      // Below 2^-14: adding a half makes the machine round to units of 2^-24, ties to even.
      magnitude = std::bit_cast<std::uint32_t>(std::bit_cast<float>(f) + 0.5F) - 0x3f00'0000U;
    } else {
      magnitude = (f - 0x3800'0000U + 0xfffU + ((f >> 13) & 1U)) >> 13;
    }
    return static_cast<std::uint16_t>(sign | magnitude);
  }
};

static_assert(sizeof(float16) == 2);

}  // namespace infeed
