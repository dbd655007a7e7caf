#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace infeed::detail {

/// Whether a name holds a character that means something in a pattern.
bool has_wildcard(std::string_view name);

/// The parts of a path, between its slashes; an absolute path has an empty first one.
std::vector<std::string> path_parts(std::string_view path);

/// Whether a part is `**`: any number of folders, and none.
inline bool is_any_depth(std::string_view part) { return part == "**"; }

/// Whether a part of a pattern stands for this name. A wildcard doesn't match a leading dot.
bool part_matches(const std::string& part, const std::string& name);

/// Whether a whole pattern stands for this path, for who has a list of paths and no folders.
bool path_matches(const std::string& pattern, const std::string& path);

/// A pattern for each alternative: "{a,b}" and "{000..015}", which counts with as many digits as
/// its longer end has, if one of them begins with a zero. Braces that hold neither stay as they are.
/// Throws invalid_argument where there would be more than limits::shard_names.
std::vector<std::string> expand_braces(const std::string& pattern);

}  // namespace infeed::detail
