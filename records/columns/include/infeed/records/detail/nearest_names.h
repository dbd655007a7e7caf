#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

/// For messages about a name that isn't there; not meant to be used directly.
namespace infeed::detail {

/// Characters to be changed, inserted, left out, or swapped with their neighbour.
std::size_t edit_distance(std::string_view a, std::string_view b);
/// The names, the nearest to `to` first; of equally near ones, in their order.
std::vector<std::string> names_by_distance(std::span<const std::string> names, std::string_view to);
/// "'a', 'b', 'c'"; at most twelve, and then ", ...".
std::string quoted_names(std::span<const std::string> names);
/// "; did you mean 'label'?", or nothing when the nearest name is too far.
std::string did_you_mean(std::span<const std::string> nearest_first, std::string_view name);

}  // namespace infeed::detail
