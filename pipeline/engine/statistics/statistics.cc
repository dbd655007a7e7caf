#include "infeed/pipeline/statistics.h"

#include <algorithm>
#include <fmt/format.h>
#include <iterator>

#include "engine/stage_counters.h"

namespace infeed {
namespace {

constexpr std::size_t kStageColumns = 30;

double seconds(std::uint64_t ns) { return static_cast<double>(ns) / 1e9; }

std::string percent(std::uint64_t part, std::uint64_t whole) {
  if (whole == 0) return "-";
  return fmt::format("{:.0f}%", 100 * static_cast<double>(part) / static_cast<double>(whole));
}

/// "14.2 us".
std::string duration(double ns) {
  if (ns < 1e3) return fmt::format("{:.1f} ns", ns);
  if (ns < 1e6) return fmt::format("{:.1f} us", ns / 1e3);
  if (ns < 1e9) return fmt::format("{:.1f} ms", ns / 1e6);
  return fmt::format("{:.1f} s", ns / 1e9);
}

/// "2.0 MiB".
std::string size(std::uint64_t bytes) {
  constexpr std::uint64_t kKiB = 1024;
  if (bytes < kKiB) return fmt::format("{} bytes", bytes);
  if (bytes < kKiB * kKiB) return fmt::format("{:.1f} KiB", static_cast<double>(bytes) / kKiB);
  return fmt::format("{:.1f} MiB", static_cast<double>(bytes) / (kKiB * kKiB));
}

/// Cuts the middle of a text that is too long: the front has the kind, the end the name.
std::string fitted(std::string text) {
  if (text.size() <= kStageColumns) return text;
  constexpr std::size_t kFront = kStageColumns / 2 - 1;
  const std::size_t end = kStageColumns - kFront - 2;
  return text.substr(0, kFront) + ".." + text.substr(text.size() - end);
}

std::string line(const StageStatistics& stage, std::uint64_t elapsed_ns) {
  const std::uint64_t elements = std::max<std::uint64_t>(1, stage.elements);
  const auto waiting = [&](std::uint64_t ns) {
    return stage.runs_ahead ? percent(ns, elapsed_ns) : "-";
  };
  const std::size_t indent = std::min(static_cast<std::size_t>(stage.depth), kStageColumns);
  return fmt::format("{:<30} {:>11} {:>6} {:>10} {:>7} {:>7} {:>6} {:>6} {:>9}\n",
                     fitted(std::string(indent, ' ') + stage.label), stage.elements, stage.errors,
                     duration(static_cast<double>(stage.work_ns) / static_cast<double>(elements)),
                     percent(stage.work_ns, elapsed_ns),
                     stage.cpu_ns ? percent(*stage.cpu_ns, stage.work_ns) : "-",
                     waiting(stage.wait_ns), waiting(stage.full_ns), stage.buffered_elements);
}

std::string tuned(const std::vector<StageStatistics>& stages) {
  std::string text;
  for (const StageStatistics& stage : stages) {
    if (!stage.is_tuned) continue;
    fmt::format_to(std::back_inserter(text), "autotune chose for {}: {}\n", stage.label,
                   stage.queue_elements_max == 0
                       ? fmt::format("parallelism {}", stage.parallelism)
                       : fmt::format("a queue of {} elements or {}", stage.queue_elements_max,
                                     size(stage.queue_bytes_max)));
  }
  return text;
}

/// Returns lines of the counts that only some kinds of stages have.
std::string own_counts(const std::vector<StageStatistics>& stages) {
  std::string text;
  for (const StageStatistics& stage : stages) {
    if (stage.traits.text != nullptr) text += stage.traits.text(stage.label, stage.counts);
  }
  return text;
}

}  // namespace

std::uint64_t StageStatistics::count(std::string_view own) const {
  const auto found = std::find(traits.counts.begin(), traits.counts.end(), own);
  const auto at = static_cast<std::size_t>(found - traits.counts.begin());
  return at < counts.size() ? counts[at] : 0;
}

std::string PipelineStatistics::table() const {
  std::string text = fmt::format(
      "{:.2f} s, of which the consumer waited {}; the process kept {:.1f} of {} cores "
      "busy\n",
      seconds(elapsed_ns), percent(consumer_wait_ns, elapsed_ns),
      elapsed_ns == 0 ? 0.0 : seconds(process_cpu_ns) / seconds(elapsed_ns), cores);
  text +=
      fmt::format("{:<30} {:>11} {:>6} {:>10} {:>7} {:>7} {:>6} {:>6} {:>9}\n", "stage", "elements",
                  "errors", "own/elem", "own", "on CPU", "wait", "full", "buffered");
  for (const StageStatistics& stage : stages) text += line(stage, elapsed_ns);
  text += tuned(stages) + own_counts(stages);
  if (!recording_problem.empty()) text += "recording failed: " + recording_problem + "\n";
  return text + "verdict: " + verdict() + "\n";
}

std::string detail::StageCounters::path() const {
  constexpr std::size_t kShownMax = 64;
  std::vector<const StageCounters*> shown;
  const StageCounters* above = this;
  for (; above != nullptr && shown.size() < kShownMax; above = above->consumer) {
    shown.push_back(above);
  }
  std::string path;
  if (above != nullptr) path = fmt::format("({} stages) < ", above->depth + 1);
  for (auto stage = shown.rbegin(); stage != shown.rend(); ++stage) {
    if (stage != shown.rbegin()) path += " < ";
    path += (*stage)->label;
  }
  return path;
}

}  // namespace infeed
