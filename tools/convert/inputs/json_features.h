#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "convert/inputs/text_value.h"

/// Why: a parsed JSON number no longer shows how it was written; 18446744073709551616 becomes a
/// float. Here each value keeps its text, so that no value changes without notice.
namespace infeed::tools {

struct JsonValue {
  ValueForm form = ValueForm::text;
  std::string text;          ///< a string's text; otherwise as written
  std::int64_t integer = 0;  ///< for integers and booleans
  double number = 0;         ///< for numbers and booleans
};

/// A feature of a line: "outer.inner" for nested objects; the values of a list, or of lists of
/// lists row by row.
struct JsonFeature {
  std::string name;
  bool is_null = false;  ///< true: there are no values
  std::vector<JsonValue> values = {};
};

/// Returns the features of a line, in its order. Throws data_loss if it is no JSON object;
/// invalid_argument for values that no feature can hold: a null or an object in a list, a key that
/// comes twice, a number beyond float64.
std::vector<JsonFeature> parse_json_features(std::string_view line);

}  // namespace infeed::tools
