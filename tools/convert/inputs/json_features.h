#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "convert/inputs/text_value.h"

/// Why: a parsed JSON number has forgotten how it was written, and 18446744073709551616 has become
/// a float. Here each value keeps its text, so that none changes without a word.
namespace infeed::tools {

struct JsonValue {
  ValueForm form = ValueForm::text;
  std::string text;          ///< of a string; of other values what is written
  std::int64_t integer = 0;  ///< of integers and booleans
  double number = 0;         ///< of numbers and booleans
};

/// What becomes a feature: "outer.inner" for nested objects; the values of a list, of lists of
/// lists row by row.
struct JsonFeature {
  std::string name;
  bool is_null = false;  ///< then there are no values
  std::vector<JsonValue> values = {};
};

/// The features of a line, in its order. Throws data_loss when it is no JSON object;
/// invalid_argument for what no feature can hold: a null or an object in a list, a key that comes
/// twice, a number beyond float64.
std::vector<JsonFeature> parse_json_features(std::string_view line);

}  // namespace infeed::tools
