#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

/// Helps messages about a name that isn't there. Not meant to be used directly.
namespace infeed::detail {

/// Returns the number of characters to be changed, inserted, left out, or swapped with their
/// neighbour.
std::size_t edit_distance(std::string_view a, std::string_view b);
/// Returns the names, the nearest to `to` first. Equally near ones keep their order.
std::vector<std::string> names_by_distance(std::span<const std::string> names, std::string_view to);
/// Returns "'a', 'b', 'c'": at most twelve names, and then ", ...".
std::string quoted_names(std::span<const std::string> names);
/// Returns "; did you mean 'label'?", or an empty text when the nearest name is too far.
std::string did_you_mean(std::span<const std::string> nearest_first, std::string_view name);

}  // namespace infeed::detail
