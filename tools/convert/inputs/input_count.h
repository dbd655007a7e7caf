#pragma once

#include <cstdint>
#include <fmt/format.h>
#include <string>
#include <string_view>

namespace infeed::tools {

/// Returns "1 row", "60000 rows" for an input's describe(). It has no commas: plans are compared by it.
inline std::string input_count(std::uint64_t count, std::string_view noun) {
  return fmt::format("{} {}{}", count, noun, count == 1 ? "" : "s");
}

}  // namespace infeed::tools
