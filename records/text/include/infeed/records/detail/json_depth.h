#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace infeed::detail {

/// Whether objects and arrays lie more than limits::json_depth deep in each other. The parser itself
/// goes to any depth, but what it makes is freed, copied and shown by calls in calls, which end a
/// program at some 100,000; so whoever parses a text asks first. It needn't be valid JSON.
bool is_json_too_deep(std::string_view text);

/// "is nested more than 100 deep; ...": for an error of one's own.
std::string_view json_too_deep_text();

/// What is wrong with so many columns with names of so many bytes (limits::json_columns,
/// limits::json_names_bytes); empty where nothing is. To be asked before the next one is kept.
std::string too_many_json_columns(std::size_t columns, std::size_t names_bytes);

}  // namespace infeed::detail
