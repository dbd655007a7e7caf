#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace infeed::detail {

/// True if objects and arrays are nested more than limits::json_depth deep. The JSON parser itself
/// takes any depth, but its result is freed, copied and shown by nested calls, which end a program
/// at a depth of some 100,000; so every caller checks before it parses. The text needn't be valid
/// JSON.
bool is_json_too_deep(std::string_view text);

/// Returns the text for an error about nesting that is too deep.
std::string_view json_too_deep_text();

/// Returns the text of an error if there are too many columns or bytes in their names
/// (limits::json_columns, limits::json_names_bytes); empty if there aren't. Called before the next
/// column is kept.
std::string too_many_json_columns(std::size_t columns, std::size_t names_bytes);

}  // namespace infeed::detail
