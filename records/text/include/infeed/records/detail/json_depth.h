#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "infeed/records/limits.h"

namespace infeed::detail {

/// True if objects and arrays are nested more than limits::json_depth deep, or have more than so
/// many values. Every caller checks before it parses: nlohmann's parser takes any text, but nested
/// calls free, copy and show its result, which ends a program at a depth of some 100,000. A value of
/// two bytes takes up to a hundred, and where memory is short, freeing what was parsed so far asks
/// for more of it and ends the program. The text needn't be valid JSON.
bool exceeds_json_limits(std::string_view text, std::size_t values_max = limits::json_line_values);

/// Returns the text for an error about JSON beyond the limits.
std::string_view json_limits_text();

/// Throws invalid_argument for what parsers of this valid JSON lose without a word: a name that an object
/// gives twice, of which the last wins (a column's second "dtype"), and digits of a whole number beyond 64
/// bits, which becomes the nearest double. `what` names the text: "the schema".
void refuse_lossy_json(std::string_view json, std::string_view what);

/// Returns the text of an error if there are too many columns or bytes in their names
/// (limits::json_columns, limits::json_names_bytes); empty if there aren't. Called before the next
/// column is kept.
std::string too_many_json_columns(std::size_t columns, std::size_t names_bytes);

}  // namespace infeed::detail
