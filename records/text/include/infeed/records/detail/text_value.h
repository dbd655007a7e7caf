#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

/// The one rule for what a cell of a table or a value in a line of JSON is. csv, json_lines, the
/// schemas that are inferred from such files, and `infeed convert` share it. Not meant to be used
/// directly.
namespace infeed::detail {

enum class ValueForm : std::uint8_t {
  text,
  code,          ///< digits with leading zeros, which a number would lose: a postcode
  boolean,       ///< true, false; in tables also True, TRUE, False, FALSE
  integer,       ///< int64 holds it
  wide_integer,  ///< whole, but beyond int64
  decimal,       ///< with a point or an exponent, nan, inf
  excessive,     ///< a finite number beyond float32
};
inline constexpr std::size_t kValueForms = 7;

struct TextValue {
  ValueForm form = ValueForm::text;
  std::int64_t integer = 0;  ///< value of an integer; 1 or 0 of a boolean
  /// Nearest float64 of a number or boolean; infinite also for a finite number beyond it.
  double number = 0;
};

/// Returns the value of a cell of a table. Blanks around a number, and a plus before it, mean
/// nothing.
TextValue value_of_cell(std::string_view cell);
/// Returns the value of a number as JSON has it.
TextValue value_of_json_number(std::string_view written);

/// Returns a cell without blanks (spaces, tabs) around it.
std::string_view trimmed_cell(std::string_view cell);
/// Parses the names that csv's bool columns take, besides 1 and 0.
std::optional<bool> parse_bool_name(std::string_view text);
/// Parses a decimal whole number, perhaps with a sign; nothing if int64 doesn't hold it.
std::optional<std::int64_t> parse_int64(std::string_view number);
std::optional<std::uint64_t> parse_uint64(std::string_view number);
/// Parses any number, also nan and inf. A finite number beyond float64 gives infinity.
std::optional<double> parse_float64(std::string_view number);
/// Returns the float32 nearest to a number as it is written; `nearest` is its float64. A finite
/// number beyond float32 gives infinity. (To round the float64 would be to round twice.)
float parse_float32(std::string_view number, double nearest);
/// True if a number has digits only, perhaps behind a sign.
bool is_whole_number(std::string_view number);
/// True if it has a zero in front of other digits.
bool has_leading_zeros(std::string_view number);
/// The number of digits that every float64 keeps.
inline constexpr std::ptrdiff_t kDigitsOfFloat64 = 15;
/// True if it is a whole number, without point and exponent, that float64 doesn't hold exactly, or
/// that lies beyond uint64.
bool float64_rounds(std::string_view number);
/// True unless nan or inf is written.
bool is_finite_number(std::string_view number);

}  // namespace infeed::detail
