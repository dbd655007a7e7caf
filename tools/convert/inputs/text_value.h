#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include <infeed/records/detail/text_value.h>
#include <infeed/records/example.h>

/// Conversion of text into an Example's numbers, the same for all text inputs. The caller is told
/// of any value that changes.
namespace infeed::tools {

using detail::TextValue;
using detail::ValueForm;

enum class LeadingZeros { refused, dropped };

/// Parses a whole decimal number; nothing if int64 doesn't hold it.
std::optional<std::int64_t> parse_integer(std::string_view text,
                                          LeadingZeros zeros = LeadingZeros::refused);

/// A number as float32 holds it.
struct Float32 {
  float value = 0;
  /// True if the written number can't be recovered: an integer that float32 doesn't hold, or
  /// another number whose shortest decimal form isn't the written one (more than about seven
  /// digits, or nearer to zero than float32 goes). So 0.1 isn't rounded; 16777217 and 1700000000.5
  /// are.
  bool is_rounded = false;
};
/// Also parses "1e-3", "nan", "inf"; nothing if it is no number, or a finite one beyond float32.
std::optional<Float32> parse_float(std::string_view text,
                                   LeadingZeros zeros = LeadingZeros::refused);
/// The same for a number that was already read as float64; `written` is its text.
std::optional<Float32> to_float32(double value, std::string_view written);

/// Kinds of columns given by the user.
using ColumnKinds = std::map<std::string, FeatureKind, std::less<>>;

/// Reads a schema file: JSON {"columns": {"age": "integers", "price": "floats", "note": "bytes"}}.
/// Columns that it doesn't name are inferred. Error invalid_argument: the fault, and what is
/// allowed.
ColumnKinds read_schema(const std::string& file);

}  // namespace infeed::tools
