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
#if LDBL_MANT_DIG == 64
/// 5^27 is the last that 64 bits hold, so all of these are exact.
constexpr std::array<long double, 28> kWidePowersOfTen = {
    1e0L,  1e1L,  1e2L,  1e3L,  1e4L,  1e5L,  1e6L,  1e7L,  1e8L,  1e9L,
    1e10L, 1e11L, 1e12L, 1e13L, 1e14L, 1e15L, 1e16L, 1e17L, 1e18L, 1e19L,
    1e20L, 1e21L, 1e22L, 1e23L, 1e24L, 1e25L, 1e26L, 1e27L};
#endif

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
  const char* at = begin;
  if (at != end && (*at == '-' || *at == '+')) out.is_negative = *at++ == '-';
  const char* const digits = at;
  std::uint64_t mantissa = 0;
  while (at != end && is_digit(*at))
    mantissa = mantissa * 10 + static_cast<std::uint64_t>(*at++ - '0');
  auto count = at - digits;
  int exponent = 0;
  if (at != end && *at == '.') {
    const char* const fraction = ++at;
    std::uint64_t part = 0;
    while (end - at >= 8 && parse_digits(at, 8, part)) {
      mantissa = mantissa * 100'000'000U + part;
      at += 8;
    }
    while (at != end && is_digit(*at))
      mantissa = mantissa * 10 + static_cast<std::uint64_t>(*at++ - '0');
    count += at - fraction;
    exponent = -static_cast<int>(std::min<std::ptrdiff_t>(at - fraction, 1000));
  }
  if (count == 0 || count > 19) return false;
  if (at != end && (*at | 0x20) == 'e') {
    ++at;
    const bool is_negative = at != end && *at == '-';
    if (at != end && (*at == '-' || *at == '+')) ++at;
    const auto length = end - at;
    std::uint64_t power = 0;
    if (length < 1 || length > 4 || !parse_digits(at, static_cast<std::size_t>(length), power)) {
      return false;
    }
    exponent += is_negative ? -static_cast<int>(power) : static_cast<int>(power);
    at = end;
  }
  if (at != end) return false;
  out.mantissa = mantissa;
  out.exponent = exponent;
  return true;
}

bool round_to_double(const Decimal& decimal, double& out) {
  constexpr std::uint64_t kExactMax = std::uint64_t{1} << 53;
  const int power = decimal.exponent;
  double value = 0;
  if (decimal.mantissa == 0) {
    value = 0;
  } else if (decimal.mantissa <= kExactMax && power >= -22 && power <= 22) {
    // Both numbers are exact, so the one operation rounds correctly.
    const auto mantissa = static_cast<double>(decimal.mantissa);
    const double scale = kPowersOfTen[static_cast<std::size_t>(power < 0 ? -power : power)];
    value = power < 0 ? mantissa / scale : mantissa * scale;
  } else {
#if LDBL_MANT_DIG == 64
    if (power < -27 || power > 27) return false;
    // The same in 64 bits; to round these to 53 is right unless they are just in the middle.
    const auto mantissa = static_cast<long double>(decimal.mantissa);
    const long double scale =
        kWidePowersOfTen[static_cast<std::size_t>(power < 0 ? -power : power)];
    const long double wide = power < 0 ? mantissa / scale : mantissa * scale;
    std::uint64_t bits;
    std::memcpy(&bits, &wide, sizeof(bits));
    if ((bits & 0x7ff) == 0x400) return false;
    value = static_cast<double>(wide);
#else
    return false;
#endif
  }
  out = decimal.is_negative ? -value : value;
  return true;
}

}  // namespace infeed::detail
