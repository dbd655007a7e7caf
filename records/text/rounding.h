#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

/// Computes the double that is nearest to a decimal number.
namespace infeed::detail {

/// A decimal number's parts: mantissa * 10^exponent.
struct Decimal {
  std::uint64_t mantissa = 0;
  int exponent = 0;
  bool is_negative = false;
  std::ptrdiff_t whole_digits = 0;     ///< before the point
  std::ptrdiff_t fraction_digits = 0;  ///< behind the point
  bool has_point = false;
};

inline constexpr std::array<double, 23> kPowersOfTen = {
    1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10, 1e11,
    1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
/// Powers 5^q for q from -27 to 27, as 128 bits with the uppermost set. They are exact for whole
/// numbers; fractions are rounded up.
struct PowerOfFive {
  std::uint64_t upper;
  std::uint64_t lower;
};
inline constexpr int kPowerMax = 27;

constexpr PowerOfFive power_of_five(int q) {
  __extension__ using Wide = unsigned __int128;
  std::uint64_t power = 1;
  for (int i = 0; i < (q < 0 ? -q : q); ++i) power *= 5;
  Wide bits = 0;
  if (q >= 0) {
    bits = Wide{power} << (64 + std::countl_zero(power));
  } else {
    // Long division of a power of two, which gives 128 bits.
    const int steps = 127 + static_cast<int>(std::bit_width(power - 1));
    Wide rest = 1;
    for (int i = 0; i < steps; ++i) {
      rest <<= 1;
      bits <<= 1;
      if (rest < power) continue;
      rest -= power;
      bits |= 1;
    }
    ++bits;
  }
  return {static_cast<std::uint64_t>(bits >> 64), static_cast<std::uint64_t>(bits)};
}

inline constexpr auto kPowersOfFive = [] {
  std::array<PowerOfFive, 2 * kPowerMax + 1> powers{};
  for (int q = -kPowerMax; q <= kPowerMax; ++q) {
    powers[static_cast<std::size_t>(q + kPowerMax)] = power_of_five(q);
  }
  return powers;
}();

/// Rounds by the method of Eisel and Lemire ("Number parsing at a gigabyte per second", 2021),
/// which is always right where the power of ten lies in this range.
[[gnu::always_inline]] inline double round_product(std::uint64_t mantissa, int q) {
  __extension__ using Wide = unsigned __int128;
  constexpr int kMantissaBits = 52;
  const int shift = std::countl_zero(mantissa);
  mantissa <<= shift;
  const PowerOfFive& power = kPowersOfFive[static_cast<std::size_t>(q + kPowerMax)];
  const Wide product = Wide{mantissa} * power.upper;
  auto upper = static_cast<std::uint64_t>(product >> 64);
  auto lower = static_cast<std::uint64_t>(product);
  constexpr std::uint64_t kUndecided = ~std::uint64_t{0} >> (kMantissaBits + 3);
  if ((upper & kUndecided) == kUndecided) {
    const auto more = static_cast<std::uint64_t>(Wide{mantissa} * power.lower >> 64);
    lower += more;
    if (more > lower) ++upper;
  }
  const int upper_bit = static_cast<int>(upper >> 63);
  const int drop = upper_bit + 64 - kMantissaBits - 3;
  std::uint64_t bits = upper >> drop;
  std::uint64_t exponent =
      static_cast<std::uint64_t>((((152170 + 65536) * q) >> 16) + 63 + upper_bit - shift + 1023);
  // A number just in the middle between two doubles becomes the even one.
  if (lower <= 1 && q >= -4 && q <= 23 && (bits & 3) == 1 && bits << drop == upper)
    bits &= ~std::uint64_t{1};
  bits = (bits + (bits & 1)) >> 1;
  if (bits >= std::uint64_t{2} << kMantissaBits) {
    bits = std::uint64_t{1} << kMantissaBits;
    ++exponent;
  }
  bits &= ~(std::uint64_t{1} << kMantissaBits);
  return std::bit_cast<double>(bits | exponent << kMantissaBits);
}

/// Returns false where none of the quick ways can tell the nearest double.
[[gnu::always_inline]] inline bool round_to_double(const Decimal& decimal, double& out) {
  constexpr std::uint64_t kExactMax = std::uint64_t{1} << 53;
  const int power = decimal.exponent;
  double value = 0;
  if (decimal.mantissa <= kExactMax && power >= -22 && power <= 22) {
    // Both numbers are exact, so the one operation rounds correctly.
    const auto mantissa = static_cast<double>(decimal.mantissa);
    const double scale = kPowersOfTen[static_cast<std::size_t>(power < 0 ? -power : power)];
    value = power < 0 ? mantissa / scale : mantissa * scale;
  } else if (decimal.mantissa != 0) {
    if (power < -kPowerMax || power > kPowerMax) return false;
    value = round_product(decimal.mantissa, power);
  }
  // Works without a branch, since signs can't be foretold.
  const std::uint64_t sign = std::uint64_t{decimal.is_negative} << 63;
  out = std::bit_cast<double>(std::bit_cast<std::uint64_t>(value) | sign);
  return true;
}

}  // namespace infeed::detail
