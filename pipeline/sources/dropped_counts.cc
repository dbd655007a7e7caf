#include "sources/dropped_counts.h"

#include <fmt/format.h>

namespace infeed::detail {

std::string dropped_text(std::string_view label, std::span<const std::uint64_t> counts) {
  const std::uint64_t records = counts[kDroppedRecords];
  const std::uint64_t bytes = counts[kDroppedBytes];
  if (records == 0 && bytes == 0) return {};
  return fmt::format(
      "dropped by {}: {}{}{}\n", label, records == 0 ? "" : fmt::format("{} records", records),
      records == 0 || bytes == 0 ? "" : ", ", bytes == 0 ? "" : fmt::format("{} bytes", bytes));
}

}  // namespace infeed::detail
