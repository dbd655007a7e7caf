#include "text/number_text.h"

#include <algorithm>
#include <charconv>
#include <string_view>
#include <system_error>

namespace infeed::detail {
namespace {

constexpr bool is_digit(char c) { return c >= '0' && c <= '9'; }

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

/// True if a number beyond its type's range is too near to zero. `text` is a number.
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

}  // namespace infeed::detail
