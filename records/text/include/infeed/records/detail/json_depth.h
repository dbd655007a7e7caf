#pragma once

#include <string_view>

namespace infeed::detail {

/// Whether objects and arrays lie more than limits::json_depth deep in each other. The parser itself
/// goes to any depth, but what it makes is freed, copied and shown by calls in calls, which end a
/// program at some 100,000; so whoever parses a text asks first. It needn't be valid JSON.
bool is_json_too_deep(std::string_view text);

/// "is nested more than 100 deep; ...": for an error of one's own.
std::string_view json_too_deep_text();

}  // namespace infeed::detail
