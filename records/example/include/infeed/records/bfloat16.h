#pragma once

#include <bit>
#include <cstdint>

/// Why: a TPU's matrix unit takes bfloat16, the upper half of a float32: the same range with 8 bits
/// of precision. Images normalised to it in the pipeline need half the bytes in every queue and
/// transfer.
///
///     infeed::bfloat16 b(1.0f / 3);     // rounds to nearest, ties to even
///     float f = static_cast<float>(b);  // exact
///
/// It is trivially copyable and has two bytes, in the layout of TensorFlow's and XLA's bfloat16. A
/// NaN stays a NaN (quiet). Overflow rounds to infinity, as in hardware; subnormals are kept.
namespace infeed {

struct bfloat16 {
  std::uint16_t bits;  ///< holds anything until it is initialised, like a float

  constexpr bfloat16() = default;
  explicit constexpr bfloat16(float value)
      : bits(round_bits(std::bit_cast<std::uint32_t>(value))) {}
  explicit constexpr operator float() const {
    return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16);
  }

  static constexpr bfloat16 from_bits(std::uint16_t bits) {
    bfloat16 value;
    value.bits = bits;
    return value;
  }

  /// Compares by value, as numbers: -0 equals 0, NaN equals nothing.
  friend constexpr bool operator==(bfloat16 a, bfloat16 b) {
    return static_cast<float>(a) == static_cast<float>(b);
  }

 private:
  static constexpr std::uint16_t round_bits(std::uint32_t f) {
    // Adds half a unit in the last place, minus one when the kept part is even, so that ties go to
    // even. A NaN could round up into infinity, so it is cut off and made quiet instead.
    const std::uint32_t rounded = f + 0x7FFFu + ((f >> 16) & 1u);
    const bool nan = (f & 0x7FFF'FFFFu) > 0x7F80'0000u;
    return static_cast<std::uint16_t>((nan ? (f | 0x0040'0000u) : rounded) >> 16);
  }
};

static_assert(sizeof(bfloat16) == 2);

}  // namespace infeed
