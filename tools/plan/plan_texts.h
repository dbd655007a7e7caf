#pragma once

#include <cstdint>
#include <fmt/format.h>
#include <string>

#include "cli/terminal.h"

/// Figures as the table and the verdict show them.
namespace infeed::tools {

/// Returns "12.4 ms".
inline std::string time_text_of_ps(std::int64_t ps) {
  return duration_text(static_cast<std::uint64_t>(ps) / 1000);
}

/// Returns "98.7 %".
inline std::string percent_text_of_share(double share) {
  return fmt::format("{:.1f} %", 100 * share);
}

}  // namespace infeed::tools
