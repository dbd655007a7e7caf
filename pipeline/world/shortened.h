#pragma once

#include <algorithm>
#include <fmt/format.h>
#include <string>
#include <string_view>

namespace infeed::detail {

/// Returns the text in quotes; of a long one the part where it first differs from the other.
inline std::string shortened(std::string_view text, std::string_view other) {
  constexpr std::size_t kShown = 80;
  const auto differs = std::mismatch(text.begin(), text.end(), other.begin(), other.end()).first;
  const std::size_t at = static_cast<std::size_t>(differs - text.begin());
  const std::size_t begin = text.size() <= kShown ? 0 : at - std::min(at, kShown / 4);
  const std::string_view shown = text.substr(begin, kShown);
  return fmt::format("'{}{}{}'", begin > 0 ? "..." : "", shown,
                     begin + shown.size() < text.size() ? "..." : "");
}

}  // namespace infeed::detail
