#pragma once

#include <bit>
#include <cfloat>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <type_traits>

/// Numbers as people write them, into the nearest value of their type. The quick ways give what
/// std::from_chars gives, or leave the text to it. Reads up to 8 bytes behind the text, which mean
/// nothing.
namespace infeed::detail {

enum class NumberProblem : std::uint8_t { none, no_number, out_of_range };

/// Eight digits, or fewer: the text's first `count` bytes. False when one of them is none.
inline bool parse_digits(const char* at, std::size_t count, std::uint64_t& out) {
  std::uint64_t word;
  std::memcpy(&word, at, 8);
  if constexpr (std::endian::native == std::endian::big) word = __builtin_bswap64(word);
  // The digits' values, the last one uppermost; what is missing in front is 0.
  word = (word ^ 0x3030303030303030U) << (8 * (8 - count));
  if ((((word + 0x7676767676767676U) | word) & 0x8080808080808080U) != 0) return false;
  word = word * 10 + (word >> 8);
  constexpr std::uint64_t kPairs = 0x000000FF000000FFU;
  constexpr std::uint64_t kHundreds = 100 + (std::uint64_t{1000000} << 32);
  constexpr std::uint64_t kOnes = 1 + (std::uint64_t{10000} << 32);
  out = ((word & kPairs) * kHundreds + ((word >> 16) & kPairs) * kOnes) >> 32;
  return true;
}

/// Digits only, at most 16 of them, at least one.
inline bool parse_short_digits(const char* begin, std::size_t count, std::uint64_t& out) {
  if (count <= 8) return parse_digits(begin, count, out);
  std::uint64_t upper = 0;
  if (!parse_digits(begin, count - 8, upper) || !parse_digits(begin + count - 8, 8, out)) {
    return false;
  }
  out += upper * 100'000'000U;
  return true;
}

/// What is left of the quick ways (number_text.cc).
template <class T>
NumberProblem parse_long_integer(const char* begin, const char* end, T& out);
NumberProblem parse_any_float(const char* begin, const char* end, double& out);
NumberProblem parse_any_float(const char* begin, const char* end, float& out);

/// Decimal, with a sign perhaps.
template <class T>
NumberProblem parse_integer(const char* begin, const char* end, T& out) {
  const bool is_negative = begin != end && *begin == '-';
  const char* const digits = begin + (begin != end && (*begin == '-' || *begin == '+') ? 1 : 0);
  const auto count = static_cast<std::size_t>(end - digits);
  if (count - 1 >= 16) return parse_long_integer(begin, end, out);  // none, too
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

/// A decimal number's parts: mantissa * 10^exponent.
struct Decimal {
  std::uint64_t mantissa = 0;
  int exponent = 0;
  bool is_negative = false;
};

/// False when the text has more than 19 digits, or isn't of this form.
bool parse_decimal(const char* begin, const char* end, Decimal& out);
/// The nearest double; false where this way can't tell which that is.
bool round_to_double(const Decimal& decimal, double& out);

/// Decimal, with a sign, a point, an exponent perhaps; "inf", "infinity", "nan" in any case. Too
/// large a number is out_of_range, too small a one 0.
inline NumberProblem parse_float(const char* begin, const char* end, double& out) {
  Decimal decimal;
  if (parse_decimal(begin, end, decimal) && round_to_double(decimal, out)) {
    return NumberProblem::none;
  }
  return parse_any_float(begin, end, out);
}

inline NumberProblem parse_float(const char* begin, const char* end, float& out) {
  Decimal decimal;
  double wide = 0;
  if (parse_decimal(begin, end, decimal) && round_to_double(decimal, wide)) {
    // A double in the middle between two floats may have been rounded to there.
    constexpr std::uint64_t kBelowFloat = 0x1fffffff;
    constexpr std::uint64_t kMiddle = 0x10000000;
    const bool is_middle = (std::bit_cast<std::uint64_t>(wide) & kBelowFloat) == kMiddle;
    const double size = std::fabs(wide);
    if (!is_middle && (size == 0 || (size >= FLT_MIN && size <= FLT_MAX))) {
      out = static_cast<float>(wide);
      return NumberProblem::none;
    }
  }
  return parse_any_float(begin, end, out);
}

}  // namespace infeed::detail
