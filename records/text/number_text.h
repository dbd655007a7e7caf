#pragma once

#include <bit>
#include <cfloat>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <type_traits>
#include <utility>

#include "columns/nearest_half.h"
#include "text/rounding.h"

/// Turns numbers as people write them into the nearest value of their type. The quick ways give the
/// results of std::from_chars, or leave the text to it. They read up to 8 bytes behind the text,
/// which mean nothing; up to 32 where digits stand there.
namespace infeed::detail {

enum class NumberProblem : std::uint8_t { none, no_number, out_of_range };

/// Loads eight characters with '0' taken away from each, the first one lowest.
inline std::uint64_t load_digits(const char* at) {
  std::uint64_t word;
  std::memcpy(&word, at, 8);
  if constexpr (std::endian::native == std::endian::big) word = __builtin_bswap64(word);
  return word ^ 0x3030303030303030U;
}

/// Sets the upper bit of each byte that is no digit. Bits above the first of these may be set for
/// digits, too.
inline std::uint64_t no_digits(std::uint64_t digits) {
  return ((digits + 0x7676767676767676U) | digits) & 0x8080808080808080U;
}

/// Returns how many of the eight are digits, up to the first that is none.
inline unsigned count_digits(std::uint64_t digits) {
  const std::uint64_t others = no_digits(digits);
  return others == 0 ? 8 : static_cast<unsigned>(std::countr_zero(others)) / 8;
}

/// Returns the number that the first `count` digits form, 1 to 8.
inline std::uint64_t value_of_digits(std::uint64_t digits, std::size_t count) {
  // The last digit goes uppermost; missing digits in front are 0.
  std::uint64_t word = digits << (8 * (8 - count));
  word = word * 10 + (word >> 8);
  constexpr std::uint64_t kPairs = 0x000000FF000000FFU;
  constexpr std::uint64_t kHundreds = 100 + (std::uint64_t{1000000} << 32);
  constexpr std::uint64_t kOnes = 1 + (std::uint64_t{10000} << 32);
  return ((word & kPairs) * kHundreds + ((word >> 16) & kPairs) * kOnes) >> 32;
}

/// Parses the first `count` bytes, up to eight. Returns false when one of them is no digit.
inline bool parse_digits(const char* at, std::size_t count, std::uint64_t& out) {
  const std::uint64_t digits = load_digits(at);
  if ((no_digits(digits) << (8 * (8 - count))) != 0 && count_digits(digits) < count) return false;
  out = value_of_digits(digits, count);
  return true;
}

/// Parses 1 to 16 digits. Returns false when one of the bytes is no digit.
inline bool parse_short_digits(const char* begin, std::size_t count, std::uint64_t& out) {
  if (count <= 8) return parse_digits(begin, count, out);
  std::uint64_t upper = 0;
  if (!parse_digits(begin, count - 8, upper) || !parse_digits(begin + count - 8, 8, out)) {
    return false;
  }
  out += upper * 100'000'000U;
  return true;
}

/// Parses numbers that the quick ways leave (number_text.cc).
template <class T>
NumberProblem parse_long_integer(const char* begin, const char* end, T& out);
NumberProblem parse_any_float(const char* begin, const char* end, double& out);
NumberProblem parse_any_float(const char* begin, const char* end, float& out);

/// Parses a decimal whole number, perhaps with a sign.
template <class T>
NumberProblem parse_integer(const char* begin, const char* end, T& out) {
  const bool is_negative = begin != end && *begin == '-';
  const char* const digits = begin + (begin != end && (*begin == '-' || *begin == '+') ? 1 : 0);
  const auto count = static_cast<std::size_t>(end - digits);
  if (count - 1 >= 16) return parse_long_integer(begin, end, out);  // also when there are no digits
  std::uint64_t magnitude = 0;
  if (!parse_short_digits(digits, count, magnitude)) return NumberProblem::no_number;
  const auto value = static_cast<std::int64_t>(is_negative ? 0 - magnitude : magnitude);
  if constexpr (sizeof(T) < 8 || std::is_unsigned_v<T>) {
    if constexpr (std::is_unsigned_v<T>) {
      if (value < 0) return NumberProblem::out_of_range;
    } else {
      if (value < std::numeric_limits<T>::min()) return NumberProblem::out_of_range;
    }
    if (value > 0 && static_cast<std::uint64_t>(value) > std::numeric_limits<T>::max()) {
      return NumberProblem::out_of_range;
    }
  }
  out = static_cast<T>(value);
  return NumberProblem::none;
}

inline constexpr std::uint64_t kSmallPowersOfTen[9] = {
    1, 10, 100, 1'000, 10'000, 100'000, 1'000'000, 10'000'000, 100'000'000};

/// Reads all digits from `at` on and appends them to those of `value`. Reads 24 of more than 23
/// digits, which are too many anyway.
inline const char* scan_digits(const char* at, std::uint64_t& value) {
  const char* const last = at + 16;
  while (true) {
    const std::uint64_t digits = load_digits(at);
    const unsigned count = count_digits(digits);
    if (count == 0) return at;
    value = value * kSmallPowersOfTen[count] + value_of_digits(digits, count);
    at += count;
    if (count != 8 || at > last) return at;
  }
}

/// Reads the number at `at`, as far as digits and a point go, perhaps with a minus before them.
/// Returns its end; null where it has more than 19 digits, or none.
inline const char* scan_decimal(const char* at, Decimal& out) {
  out.is_negative = *at == '-';
  at += out.is_negative ? 1 : 0;
  const char* const whole = at;
  out.mantissa = 0;
  at = scan_digits(at, out.mantissa);
  out.whole_digits = at - whole;
  out.has_point = *at == '.';
  out.fraction_digits = 0;
  if (out.has_point) {
    const char* const fraction = ++at;
    at = scan_digits(at, out.mantissa);
    out.fraction_digits = at - fraction;
  }
  const std::ptrdiff_t count = out.whole_digits + out.fraction_digits;
  out.exponent = -static_cast<int>(out.fraction_digits);
  return count >= 1 && count <= 19 ? at : nullptr;
}

/// Reads the whole number at `at`, perhaps with a minus before it. Returns its end; null where it
/// has no digits, more than 15, or doesn't fit.
template <class T>
const char* scan_integer(const char* at, T& out) {
  const bool is_negative = *at == '-';
  const char* const begin = at + (is_negative ? 1 : 0);
  std::uint64_t digits = load_digits(begin);
  unsigned count = count_digits(digits);
  if (count == 0) return nullptr;
  std::uint64_t magnitude = value_of_digits(digits, count);
  at = begin + count;
  if (count == 8) {
    digits = load_digits(at);
    count = count_digits(digits);
    if (count == 8) return nullptr;
    if (count != 0) {
      magnitude = magnitude * kSmallPowersOfTen[count] + value_of_digits(digits, count);
      at += count;
    }
  }
  // Works without a branch, since signs can't be foretold.
  const std::uint64_t sign = is_negative ? 1 : 0;
  const auto value = static_cast<std::int64_t>((magnitude ^ (0 - sign)) + sign);
  if (!std::in_range<T>(value)) return nullptr;
  out = static_cast<T>(value);
  return at;
}

/// Returns false when the text has more than 19 digits, or isn't of this form.
bool parse_decimal(const char* begin, const char* end, Decimal& out);

/// Parses a decimal number, perhaps with a sign, a point, an exponent; also "inf", "infinity",
/// "nan" in upper or lower case. Too large a number is out_of_range, too small a one 0.
inline NumberProblem parse_float(const char* begin, const char* end, double& out) {
  Decimal decimal;
  if (parse_decimal(begin, end, decimal) && round_to_double(decimal, out)) {
    return NumberProblem::none;
  }
  return parse_any_float(begin, end, out);
}

/// Computes the nearest float. Returns false where this way can't tell which that is.
[[gnu::always_inline]] inline bool round_to_float(const Decimal& decimal, float& out) {
  double wide = 0;
  if (!round_to_double(decimal, wide)) return false;
  // A double in the middle between two floats may have been rounded to that place.
  constexpr std::uint64_t kBelowFloat = 0x1fffffff;
  constexpr std::uint64_t kMiddle = 0x10000000;
  const bool is_middle = (std::bit_cast<std::uint64_t>(wide) & kBelowFloat) == kMiddle;
  const double size = std::fabs(wide);
  if (is_middle || (size != 0 && (size < FLT_MIN || size > FLT_MAX))) return false;
  out = static_cast<float>(wide);
  return true;
}
[[gnu::always_inline]] inline bool round_decimal(const Decimal& decimal, double& out) {
  return round_to_double(decimal, out);
}
[[gnu::always_inline]] inline bool round_decimal(const Decimal& decimal, float& out) {
  return round_to_float(decimal, out);
}

inline NumberProblem parse_float(const char* begin, const char* end, float& out) {
  Decimal decimal;
  if (parse_decimal(begin, end, decimal) && round_to_float(decimal, out)) {
    return NumberProblem::none;
  }
  return parse_any_float(begin, end, out);
}

/// Parses a float of 16 bits. Written infinity is a value; a finite number that rounds to infinity is
/// out_of_range, as it is for float32.
template <class Half>
NumberProblem parse_half(const char* begin, const char* end, Half& out) {
  double value = 0;
  const NumberProblem problem = parse_float(begin, end, value);
  if (problem != NumberProblem::none) return problem;
  out = nearest_half<Half>(value);
  const bool has_overflowed = std::isinf(static_cast<float>(out)) && !std::isinf(value);
  return has_overflowed ? NumberProblem::out_of_range : NumberProblem::none;
}

/// Scans as scan_decimal() does, and rounds.
template <class T>
const char* scan_float(const char* at, T& out) {
  Decimal decimal;
  const char* const end = scan_decimal(at, decimal);
  return end != nullptr && round_decimal(decimal, out) ? end : nullptr;
}

}  // namespace infeed::detail
