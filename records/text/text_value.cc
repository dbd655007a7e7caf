#include "infeed/records/detail/text_value.h"

#include <algorithm>
#include <bit>
#include <cfloat>
#include <cmath>
#include <limits>

#include "text/csv_cells.h"
#include "text/number_text.h"

namespace infeed::detail {
namespace {

constexpr bool is_decimal_digit(char c) { return c >= '0' && c <= '9'; }

std::string_view without_sign(std::string_view number) {
  return number.starts_with('-') || number.starts_with('+') ? number.substr(1) : number;
}

template <class T>
std::optional<T> parse_whole(std::string_view number) {
  T value = 0;
  // Takes the way that looks at no byte behind the text.
  const NumberProblem problem =
      parse_long_integer(number.data(), number.data() + number.size(), value);
  if (problem != NumberProblem::none) return std::nullopt;
  return value;
}

/// True where a float64 may lie in the middle between two float32, or beyond the usual ones.
bool may_round_twice(double nearest) {
  constexpr std::uint64_t kBelowFloat = 0x1fffffff;
  constexpr std::uint64_t kMiddle = 0x10000000;
  const double size = std::fabs(nearest);
  return (std::bit_cast<std::uint64_t>(nearest) & kBelowFloat) == kMiddle || size < FLT_MIN ||
         size > FLT_MAX;
}

TextValue value_of_number(std::string_view number, double nearest) {
  if (is_whole_number(number)) {
    const auto integer = parse_int64(number);
    return {integer ? ValueForm::integer : ValueForm::wide_integer, integer.value_or(0), nearest};
  }
  const bool fits = !is_finite_number(number) || std::isfinite(parse_float32(number, nearest));
  return {fits ? ValueForm::decimal : ValueForm::excessive, 0, nearest};
}

}  // namespace

std::string_view trimmed_cell(std::string_view cell) {
  while (!cell.empty() && is_blank(cell.front())) cell.remove_prefix(1);
  while (!cell.empty() && is_blank(cell.back())) cell.remove_suffix(1);
  return cell;
}

std::optional<bool> parse_bool_name(std::string_view text) {
  if (text == "true" || text == "True" || text == "TRUE") return true;
  if (text == "false" || text == "False" || text == "FALSE") return false;
  return std::nullopt;
}

std::optional<std::int64_t> parse_int64(std::string_view number) {
  return parse_whole<std::int64_t>(number);
}

std::optional<std::uint64_t> parse_uint64(std::string_view number) {
  return parse_whole<std::uint64_t>(number);
}

std::optional<double> parse_float64(std::string_view number) {
  double value = 0;
  switch (parse_any_float(number.data(), number.data() + number.size(), value)) {
    case NumberProblem::none:
      return value;
    case NumberProblem::out_of_range:
      value = std::numeric_limits<double>::infinity();
      return number.starts_with('-') ? -value : value;
    case NumberProblem::no_number:
      break;
  }
  return std::nullopt;
}

float parse_float32(std::string_view number, double nearest) {
  if (!may_round_twice(nearest)) return static_cast<float>(nearest);
  float value = 0;
  const NumberProblem problem =
      parse_any_float(number.data(), number.data() + number.size(), value);
  if (problem == NumberProblem::none) return value;
  return std::copysign(std::numeric_limits<float>::infinity(), static_cast<float>(nearest));
}

bool is_whole_number(std::string_view number) {
  const std::string_view digits = without_sign(number);
  return !digits.empty() && std::all_of(digits.begin(), digits.end(), is_decimal_digit);
}

bool has_leading_zeros(std::string_view number) {
  const std::string_view digits = without_sign(number);
  return digits.size() > 1 && digits[0] == '0' && is_decimal_digit(digits[1]);
}

bool float64_rounds(std::string_view number) {
  constexpr int kBitsExact = 53;
  if (number.size() <= std::size_t{kDigitsOfFloat64} || !is_whole_number(number)) return false;
  const auto size = parse_uint64(without_sign(number));
  return !size || static_cast<int>(std::bit_width(*size)) - std::countr_zero(*size) > kBitsExact;
}

bool is_finite_number(std::string_view number) {
  const std::string_view digits = without_sign(number);
  return !digits.empty() && (is_decimal_digit(digits.front()) || digits.front() == '.');
}

TextValue value_of_cell(std::string_view cell) {
  const std::string_view text = trimmed_cell(cell);
  if (const auto is_true = parse_bool_name(text)) {
    return {ValueForm::boolean, *is_true ? 1 : 0, *is_true ? 1.0 : 0.0};
  }
  const auto nearest = parse_float64(text);
  if (!nearest) return {};
  if (has_leading_zeros(text)) return {ValueForm::code, 0, *nearest};
  return value_of_number(text, *nearest);
}

TextValue value_of_json_number(std::string_view written) {
  if (is_whole_number(written)) {
    if (const auto integer = parse_int64(written)) {
      const auto nearest = static_cast<double>(*integer);
      return {ValueForm::integer, *integer,
              written.starts_with('-') ? -std::fabs(nearest) : nearest};
    }
  }
  return value_of_number(written, parse_float64(written).value_or(0));
}

}  // namespace infeed::detail
