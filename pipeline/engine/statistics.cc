#include "infeed/pipeline/statistics.h"

#include <fmt/format.h>

namespace infeed {

std::string PipelineStatistics::table() const {
  std::string text = fmt::format("{:<32} {:>12} {:>7} {:>11} {:>11} {:>11} {:>10}\n", "stage",
                                 "elements", "errors", "own ms", "wait ms", "full ms", "buffered");
  for (const StageStatistics& stage : stages) {
    const auto ms = [](std::uint64_t ns) { return static_cast<double>(ns) / 1e6; };
    fmt::format_to(std::back_inserter(text),
                   "{:<32} {:>12} {:>7} {:>11.2f} {:>11.2f} {:>11.2f} {:>10}\n",
                   std::string(static_cast<std::size_t>(stage.depth), ' ') + stage.name,
                   stage.elements, stage.errors, ms(stage.exclusive_ns), ms(stage.wait_ns),
                   ms(stage.full_ns), stage.buffered_elements);
  }
  for (const StageStatistics& stage : stages) {
    if (stage.dropped_records == 0 && stage.dropped_bytes == 0) continue;
    fmt::format_to(
        std::back_inserter(text), "dropped by {}: {}\n", stage.name,
        stage.dropped_records == 0
            ? fmt::format("{} bytes", stage.dropped_bytes)
            : fmt::format("{} records, {} bytes", stage.dropped_records, stage.dropped_bytes));
  }
  return text;
}

std::string detail::StageCounters::path() const {
  std::string path = name;
  for (const StageCounters* above = consumer; above != nullptr; above = above->consumer) {
    path = above->name + " < " + path;
  }
  return path;
}

}  // namespace infeed
