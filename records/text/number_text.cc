#include "text/number_text.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <system_error>

namespace infeed::detail {
namespace {

constexpr bool is_digit(char c) { return c >= '0' && c <= '9'; }

constexpr std::array<double, 23> kPowersOfTen = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                                                 1e8,  1e9,  1e10, 1e11, 1e12, 1e13, 1e14, 1e15,
                                                 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
/// 5^q for q from -27 to 27, as 128 bits of which the uppermost is set: exact, or, of a fraction, the
/// next above.
struct PowerOfFive {
  std::uint64_t upper;
  std::uint64_t lower;
};
constexpr int kPowerMax = 27;

constexpr PowerOfFive power_of_five(int q) {
  __extension__ using Wide = unsigned __int128;
  std::uint64_t power = 1;
  for (int i = 0; i < (q < 0 ? -q : q); ++i) power *= 5;
  Wide bits = 0;
  if (q >= 0) {
    bits = Wide{power} << (64 + std::countl_zero(power));
  } else {
    // Long division of a power of two that leaves 128 bits.
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

constexpr auto kPowersOfFive = [] {
  std::array<PowerOfFive, 2 * kPowerMax + 1> powers{};
  for (int q = -kPowerMax; q <= kPowerMax; ++q) {
    powers[static_cast<std::size_t>(q + kPowerMax)] = power_of_five(q);
  }
  return powers;
}();

/// The method of Eisel and Lemire ("Number parsing at a gigabyte per second", 2021), which needs no
/// second look where the power of ten lies in this range.
double round_product(std::uint64_t mantissa, int q) {
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
  // Just in the middle between two: the even one.
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

bool is_word(std::string_view text, std::string_view lower) {
  if (text.size() != lower.size()) return false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if ((text[i] | 0x20) != lower[i]) return false;
  }
  return true;
}

bool is_name_of_number(std::string_view text) {
  if (text.starts_with('-')) text.remove_prefix(1);
  return is_word(text, "nan") || is_word(text, "inf") || is_word(text, "infinity");
}

/// Whether a number beyond its type's range is so near to zero. `text` is a number.
bool is_small(std::string_view text) {
  const std::size_t exponent_mark = text.find_first_of("eE");
  const std::string_view digits = text.substr(0, exponent_mark);
  const std::size_t point = std::min(digits.find('.'), digits.size());
  const std::size_t first = digits.find_first_of("123456789");
  if (first == digits.npos) return true;
  std::int64_t power = first < point ? static_cast<std::int64_t>(point - first)
                                     : -static_cast<std::int64_t>(first - point);
  if (exponent_mark == text.npos) return power < 0;
  std::string_view exponent = text.substr(exponent_mark + 1);
  const bool is_negative = exponent.starts_with('-');
  if (is_negative || exponent.starts_with('+')) exponent.remove_prefix(1);
  std::int64_t value = 0;
  for (const char c : exponent)
    value = std::min<std::int64_t>(value * 10 + (c - '0'), 1'000'000'000'000);
  power += is_negative ? -value : value;
  return power < 0;
}

template <class T>
NumberProblem parse_as_library_does(const char* begin, const char* end, T& out) {
  if (begin != end && *begin == '+') {
    ++begin;
    if (begin != end && *begin == '-') return NumberProblem::no_number;
  }
  const std::string_view text(begin, static_cast<std::size_t>(end - begin));
  const auto [stop, failure] = std::from_chars(begin, end, out);
  if (failure == std::errc::invalid_argument || stop != end) return NumberProblem::no_number;
  if constexpr (std::is_floating_point_v<T>) {
    const char first = text[text.starts_with('-') ? 1 : 0];
    if (first != '.' && !is_digit(first) && !is_name_of_number(text)) {
      return NumberProblem::no_number;
    }
    if (failure == std::errc::result_out_of_range && is_small(text)) {
      out = text.starts_with('-') ? T{-0.0} : T{0.0};
      return NumberProblem::none;
    }
  }
  return failure == std::errc() ? NumberProblem::none : NumberProblem::out_of_range;
}

}  // namespace

template <class T>
NumberProblem parse_long_integer(const char* begin, const char* end, T& out) {
  const NumberProblem problem = parse_as_library_does(begin, end, out);
  if (problem != NumberProblem::no_number || !std::is_unsigned_v<T>) return problem;
  if (begin == end || *begin != '-') return problem;
  std::int64_t negative = 0;
  const NumberProblem as_signed = parse_as_library_does(begin, end, negative);
  if (as_signed == NumberProblem::none && negative == 0) out = 0;
  if (as_signed == NumberProblem::none && negative != 0) return NumberProblem::out_of_range;
  return as_signed;
}

template NumberProblem parse_long_integer(const char*, const char*, std::int8_t&);
template NumberProblem parse_long_integer(const char*, const char*, std::int16_t&);
template NumberProblem parse_long_integer(const char*, const char*, std::int32_t&);
template NumberProblem parse_long_integer(const char*, const char*, std::int64_t&);
template NumberProblem parse_long_integer(const char*, const char*, std::uint8_t&);
template NumberProblem parse_long_integer(const char*, const char*, std::uint16_t&);
template NumberProblem parse_long_integer(const char*, const char*, std::uint32_t&);
template NumberProblem parse_long_integer(const char*, const char*, std::uint64_t&);

NumberProblem parse_any_float(const char* begin, const char* end, double& out) {
  return parse_as_library_does(begin, end, out);
}
NumberProblem parse_any_float(const char* begin, const char* end, float& out) {
  return parse_as_library_does(begin, end, out);
}

bool parse_decimal(const char* begin, const char* end, Decimal& out) {
  const char* at = scan_decimal(begin + (begin != end && *begin == '+' ? 1 : 0), out);
  if (at == nullptr || (begin != end && *begin == '+' && out.is_negative)) return false;
  if (at < end && (*at | 0x20) == 'e') {
    ++at;
    const bool is_negative = at != end && *at == '-';
    if (at != end && (*at == '-' || *at == '+')) ++at;
    const auto length = end - at;
    std::uint64_t power = 0;
    if (length < 1 || length > 4 || !parse_digits(at, static_cast<std::size_t>(length), power)) {
      return false;
    }
    out.exponent += is_negative ? -static_cast<int>(power) : static_cast<int>(power);
    at = end;
  }
  return at == end;
}

bool round_to_double(const Decimal& decimal, double& out) {
  constexpr std::uint64_t kExactMax = std::uint64_t{1} << 53;
  const int power = decimal.exponent;
  double value = 0;
  if (decimal.mantissa != 0 && power >= -kPowerMax && power < 0) {
    value = round_product(decimal.mantissa, power);
  } else if (decimal.mantissa <= kExactMax && power >= -22 && power <= 22) {
    // Both numbers are exact, so the one operation rounds correctly.
    const auto mantissa = static_cast<double>(decimal.mantissa);
    const double scale = kPowersOfTen[static_cast<std::size_t>(power < 0 ? -power : power)];
    value = power < 0 ? mantissa / scale : mantissa * scale;
  } else if (decimal.mantissa != 0) {
    if (power < -kPowerMax || power > kPowerMax) return false;
    value = round_product(decimal.mantissa, power);
  }
  out = decimal.is_negative ? -value : value;
  return true;
}

}  // namespace infeed::detail
