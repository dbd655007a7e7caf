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

std::string_view without_sign(std::string_view number) {
  return number.starts_with('-') || number.starts_with('+') ? number.substr(1) : number;
}

/// Returns the digits from the first that isn't zero to the exponent, with a point that is among
/// them.
std::string_view significant_part(std::string_view number) {
  const std::size_t begin = std::min(number.find_first_not_of("+-0."), number.size());
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
  if (detail::is_whole_number(number)) return is_rounded_integer(number, rounded);
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

std::optional<std::int64_t> parse_integer(std::string_view text, LeadingZeros zeros) {
  text = detail::trimmed_cell(text);
  if (zeros == LeadingZeros::refused && detail::has_leading_zeros(text)) return std::nullopt;
  return detail::parse_int64(text);
}

std::optional<Float32> parse_float(std::string_view text, LeadingZeros zeros) {
  text = detail::trimmed_cell(text);
  if (zeros == LeadingZeros::refused && detail::has_leading_zeros(text)) return std::nullopt;
  const auto value = detail::parse_float64(text);
  return value ? to_float32(*value, text) : std::nullopt;
}

std::optional<Float32> to_float32(double value, std::string_view written) {
  if (!detail::is_finite_number(written)) return Float32{static_cast<float>(value), false};
  const float rounded = detail::parse_float32(written, value);
  if (!std::isfinite(rounded)) return std::nullopt;
  return Float32{rounded, is_rounded(written, value, rounded)};
}

ColumnKinds read_schema(const std::string& file) {
  const std::string text = read_stream(file);
  if (detail::exceeds_json_limits(text)) {
    throw Error(ErrorCode::invalid_argument,
                fmt::format("this is no schema: {}", detail::json_limits_text()))
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
