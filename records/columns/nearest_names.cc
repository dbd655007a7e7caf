#include "infeed/records/detail/nearest_names.h"

#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <numeric>
#include <utility>

namespace infeed::detail {

std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  std::vector<std::size_t> above(row.size());
  std::vector<std::size_t> above_that(row.size());
  for (std::size_t i = 1; i <= a.size(); ++i) {
    above_that.swap(above);
    above.swap(row);
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t replaced = above[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      row[j] = std::min({replaced, row[j - 1] + 1, above[j] + 1});
      const bool is_swapped = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
      if (is_swapped) row[j] = std::min(row[j], above_that[j - 2] + 1);
    }
  }
  return row.back();
}

std::vector<std::string> names_by_distance(std::span<const std::string> names,
                                           std::string_view to) {
  // With more names, finding the nearest takes too long for a message.
  constexpr std::size_t kNamesMax = 10'000;
  std::vector<std::pair<std::size_t, const std::string*>> sorted;
  for (const std::string& name : names.first(std::min(names.size(), kNamesMax))) {
    sorted.emplace_back(edit_distance(name, to), &name);
  }
  std::stable_sort(sorted.begin(), sorted.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  std::vector<std::string> result;
  for (const auto& [distance, name] : sorted) result.push_back(*name);
  return result;
}

std::string quoted_names(std::span<const std::string> names) {
  constexpr std::size_t kToldMax = 12;
  const auto told = names.first(std::min(names.size(), kToldMax));
  return fmt::format("'{}'{}", fmt::join(told, "', '"), told.size() < names.size() ? ", ..." : "");
}

std::string did_you_mean(std::span<const std::string> nearest_first, std::string_view name) {
  if (nearest_first.empty()) return {};
  const std::string& nearest = nearest_first.front();
  if (edit_distance(nearest, name) > std::max<std::size_t>(2, name.size() / 3)) return {};
  return fmt::format("; did you mean '{}'?", nearest);
}

}  // namespace infeed::detail
