#include "convert/inputs/text_value.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <fmt/format.h>
#include <limits>
#include <nlohmann/json.hpp>

#include <infeed/error.h>
#include <infeed/records/detail/json_depth.h>
#include <infeed/records/file.h>

namespace infeed::tools {
namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }

std::string_view trimmed(std::string_view text) {
  while (text.starts_with(' ')) text.remove_prefix(1);
  while (text.ends_with(' ')) text.remove_suffix(1);
  if (text.size() > 1 && text.starts_with('+') && text[1] != '-') text.remove_prefix(1);
  return text;
}

std::string_view without_sign(std::string_view number) {
  return number.starts_with('-') ? number.substr(1) : number;
}

bool has_leading_zeros(std::string_view number) {
  const std::string_view digits = without_sign(number);
  return digits.size() > 1 && digits[0] == '0' && is_digit(digits[1]);
}

bool is_whole(std::string_view number) {
  const std::string_view digits = without_sign(number);
  return !digits.empty() && std::all_of(digits.begin(), digits.end(), is_digit);
}

/// True if a number that double doesn't hold is beyond its largest, not below its smallest.
bool is_large(std::string_view number) {
  const std::string_view digits = without_sign(number);
  const std::size_t exponent_at = std::min(digits.find_first_of("eE"), digits.size());
  const std::string_view mantissa = digits.substr(0, exponent_at);
  const std::size_t point = std::min(mantissa.find('.'), mantissa.size());
  const std::size_t first = mantissa.find_first_of("123456789");
  if (first == std::string_view::npos) return false;
  std::string_view exponent_text = digits.substr(std::min(exponent_at + 1, digits.size()));
  const bool is_negative = exponent_text.starts_with('-');
  if (exponent_text.starts_with('-') || exponent_text.starts_with('+')) {
    exponent_text.remove_prefix(1);
  }
  std::int64_t exponent = 0;
  for (const char c : exponent_text) {
    exponent = std::min<std::int64_t>(exponent * 10 + (c - '0'), std::int64_t{1} << 40);
  }
  const auto place = static_cast<std::int64_t>(point) - static_cast<std::int64_t>(first);
  return place + (is_negative ? -exponent : exponent) > 0;
}

/// Returns infinity for a finite number that is too large for double.
std::optional<double> parse_double(std::string_view number) {
  double value = 0;
  const char* const end = number.data() + number.size();
  const auto [stop, error] = std::from_chars(number.data(), end, value);
  // "nan(payload)" is C's form; no data has it.
  if (stop != end || number.ends_with(')')) return std::nullopt;
  if (error == std::errc::result_out_of_range) {
    const double size = is_large(number) ? std::numeric_limits<double>::infinity() : 0;
    return number.starts_with('-') ? -size : size;
  }
  if (error != std::errc()) return std::nullopt;
  return value;
}

bool is_finite_as_written(std::string_view number) {
  const std::string_view digits = without_sign(number);
  return !digits.empty() && (is_digit(digits.front()) || digits.front() == '.');
}

/// Returns the digits from the first that isn't zero to the exponent, with a point that is among
/// them.
std::string_view significant_part(std::string_view number) {
  const std::size_t begin = std::min(number.find_first_not_of("-0."), number.size());
  return number.substr(begin, number.find_first_of("eE", begin) - begin);
}

std::size_t count_digits(std::string_view part) {
  return part.size() - (part.find('.') == std::string_view::npos ? 0 : 1);
}

/// True if the digits alone tell that no decimal number of a float's nine digits is the same
/// double: the tenth to the fifteenth are neither all 0 nor all 9.
bool has_more_digits_than_float(std::string_view part) {
  constexpr std::size_t kFloatDigits = std::numeric_limits<float>::max_digits10;
  constexpr std::size_t kDoubleDigits = std::numeric_limits<double>::digits10;
  std::size_t place = 0;
  bool all_zeros = true;
  bool all_nines = true;
  for (const char c : part) {
    if (c == '.') continue;
    if (++place <= kFloatDigits) continue;
    if (place > kDoubleDigits) break;
    all_zeros = all_zeros && c == '0';
    all_nines = all_nines && c == '9';
  }
  return place > kFloatDigits && !all_zeros && !all_nines;
}

bool is_rounded_integer(std::string_view number, float value) {
  constexpr std::size_t kAlwaysHeld = 7;  // 9,999,999 is below 2^24
  if (number.size() <= kAlwaysHeld) return false;
  std::string_view digits = without_sign(number);
  digits.remove_prefix(std::min(digits.find_first_not_of('0'), digits.size() - 1));
  return fmt::format("{:.0f}", std::abs(value)) != digits;
}

bool is_rounded(std::string_view number, double value, float rounded) {
  if (is_whole(number)) return is_rounded_integer(number, rounded);
  const std::string_view part = significant_part(number);
  if (rounded == 0) return !part.empty();
  if (static_cast<double>(rounded) == value) return false;
  constexpr std::size_t kAlwaysKept = std::numeric_limits<float>::digits10;
  const bool is_normal = std::abs(rounded) >= std::numeric_limits<float>::min();
  if (is_normal && count_digits(part) <= kAlwaysKept) return false;
  if (has_more_digits_than_float(part)) return true;
  std::array<char, 32> shortest{};
  // The fixed form of a large number would have all digits of the float.
  const char* const end = std::to_chars(shortest.data(), shortest.data() + shortest.size(), rounded,
                                        std::chars_format::scientific)
                              .ptr;
  double back = 0;
  std::from_chars(shortest.data(), end, back);
  return back != value;
}

FeatureKind parse_kind(const std::string& column, const nlohmann::json& value,
                       const std::string& file) {
  for (const FeatureKind kind : {FeatureKind::bytes, FeatureKind::floats, FeatureKind::integers}) {
    if (value == to_string(kind)) return kind;
  }
  throw Error(ErrorCode::invalid_argument,
              fmt::format("column '{}' has the kind {}, but bytes, floats and integers exist",
                          column, value.dump()))
      .at_file(file);
}

}  // namespace

ValueForm value_form(std::string_view text) {
  const std::string_view number = trimmed(text);
  const auto value = parse_double(number);
  if (!value) return ValueForm::text;
  if (has_leading_zeros(number)) return ValueForm::code;
  if (is_whole(number)) {
    return parse_integer(number) ? ValueForm::integer : ValueForm::wide_integer;
  }
  return to_float32(*value, number) ? ValueForm::decimal : ValueForm::excessive;
}

std::optional<std::int64_t> parse_integer(std::string_view text, LeadingZeros zeros) {
  text = trimmed(text);
  if (zeros == LeadingZeros::refused && has_leading_zeros(text)) return std::nullopt;
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

std::optional<Float32> parse_float(std::string_view text, LeadingZeros zeros) {
  text = trimmed(text);
  if (zeros == LeadingZeros::refused && has_leading_zeros(text)) return std::nullopt;
  const auto value = parse_double(text);
  return value ? to_float32(*value, text) : std::nullopt;
}

std::optional<Float32> to_float32(double value, std::string_view written) {
  const auto rounded = static_cast<float>(value);
  if (std::isfinite(rounded)) return Float32{rounded, is_rounded(written, value, rounded)};
  if (is_finite_as_written(written)) return std::nullopt;
  return Float32{rounded, false};
}

ColumnKinds read_schema(const std::string& file) {
  const std::string text = read_file(file);
  if (detail::is_json_too_deep(text)) {
    throw Error(ErrorCode::invalid_argument,
                fmt::format("this is no schema: {}", detail::json_too_deep_text()))
        .at_file(file);
  }
  const auto json = nlohmann::json::parse(text, nullptr, false);
  if (!json.is_object() || !json.contains("columns") || !json["columns"].is_object()) {
    throw Error(ErrorCode::invalid_argument,
                R"(a schema is JSON like {"columns": {"age": "integers", "note": "bytes"}})")
        .at_file(file);
  }
  ColumnKinds kinds;
  for (const auto& [column, kind] : json["columns"].items()) {
    kinds[column] = parse_kind(column, kind, file);
  }
  return kinds;
}

}  // namespace infeed::tools
