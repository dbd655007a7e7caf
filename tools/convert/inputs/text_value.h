#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include <infeed/records/example.h>

/// How text becomes numbers, the same for all inputs made of text. No value changes on the way
/// unless the caller is told.
namespace infeed::tools {

/// What a value is as written, whatever its column takes.
enum class ValueForm : std::uint8_t {
  text,
  code,          ///< digits with leading zeros, which a number would lose: a postcode
  boolean,       ///< only JSON has them
  integer,       ///< int64 holds it
  wide_integer,  ///< whole, but beyond int64
  decimal,       ///< with a point or an exponent, nan, inf
  excessive,     ///< a finite number beyond float32
};

/// Spaces around a number and a plus before it are allowed.
ValueForm value_form(std::string_view text);

enum class LeadingZeros { refused, dropped };

/// Whole and decimal; nothing when int64 doesn't hold it.
std::optional<std::int64_t> parse_integer(std::string_view text,
                                          LeadingZeros zeros = LeadingZeros::refused);

/// A number as float32 holds it.
struct Float32 {
  float value = 0;
  /// What was written can't be read from it any more: an integer that it doesn't hold, or another
  /// number whose shortest decimal form isn't what was written (more than about seven digits, or
  /// nearer to zero than float32 goes). So 0.1 isn't rounded; 16777217 and 1700000000.5 are.
  bool is_rounded = false;
};
/// Also "1e-3", "nan", "inf"; nothing when it is no number, or a finite one beyond float32.
std::optional<Float32> parse_float(std::string_view text,
                                   LeadingZeros zeros = LeadingZeros::refused);
/// The same of a number that was read as `value` already; `written` is its text.
std::optional<Float32> to_float32(double value, std::string_view written);

/// Which column has which kind, where the user says so.
using ColumnKinds = std::map<std::string, FeatureKind, std::less<>>;

/// A schema file: JSON {"columns": {"age": "integers", "price": "floats", "note": "bytes"}}; those
/// it doesn't name are inferred. Error invalid_argument: what is wrong, and what may stand there.
ColumnKinds read_schema(const std::string& file);

}  // namespace infeed::tools
