#include "profile/outputs/profile_tensorboard.h"

#include <algorithm>
#include <cstdint>
#include <unistd.h>

#include <infeed/detail/printable_text.h>
#include <infeed/device/event_file.h>

#include "cli/stop_on_signal.h"
#include "profile/outputs/profile_figures.h"

namespace infeed::tools {
namespace {

/// TensorBoard groups by what stands before a slash, and needs UTF-8.
std::string tag_of(std::string_view group, const std::string& label) {
  std::string name = detail::printable_text(label);
  std::replace(name.begin(), name.end(), '/', '_');
  return std::string(group) + "/" + name;
}

}  // namespace

std::string profile_tensorboard(const RecordedRun& run, const ProfileReport& /*report*/,
                                const std::string& directory, const std::stop_token& stop) {
  EventFileWriter events(directory);
  const auto go_on = [&] {
    if (stop.stop_requested()) ::unlink(events.path().c_str());  // it would be half of a run
    throw_if_stopped(stop, "the events were written");
  };
  const auto wall_time_s = [&](std::uint64_t ns) {
    return run.started_unix_s + static_cast<double>(ns) / 1e9;
  };
  const auto milliseconds = [](std::uint64_t ns) { return static_cast<double>(ns) / 1e6; };
  for (const RecordedStep& step : run.steps) {
    go_on();
    const double at = wall_time_s(step.end_ns());
    const auto number = static_cast<std::int64_t>(step.number);
    events.scalar_at(at, "step_ms/length", number, milliseconds(step.length_ns()));
    for (const StepPart& part : kStepParts) {
      events.scalar_at(at, "step_ms/" + std::string(part.name), number,
                       milliseconds(step.*part.of_step));
    }
  }
  std::size_t next_step = run.steps.size() - run.detailed_steps().size();
  std::int64_t number = 0;
  for (const RecordedWindow& window : run.windows) {
    go_on();
    if (window.length_ns == 0) continue;
    const std::uint64_t end = window.begin_ns + window.length_ns;
    const double at = wall_time_s(end);
    std::uint64_t wait_ns = 0, all_ns = 0;
    for (; next_step < run.steps.size() && run.steps[next_step].end_ns() <= end; ++next_step) {
      wait_ns += run.steps[next_step].infeed_wait_ns;
      all_ns += run.steps[next_step].length_ns();
      number = static_cast<std::int64_t>(run.steps[next_step].number);
    }
    if (all_ns > 0) {
      events.scalar_at(at, "input_bound_percent", number,
                       100 * static_cast<double>(wait_ns) / static_cast<double>(all_ns));
    }
    for (const StageWindow& stage : window.stages) {
      if (!is_stage(run, stage.stage)) continue;
      const std::string label = label_of(run, stage.stage);
      events.scalar_at(
          at, tag_of("elements_per_s", label), number,
          1e9 * static_cast<double>(stage.elements) / static_cast<double>(window.length_ns));
      events.scalar_at(at, tag_of("memory_mb", label), number,
                       static_cast<double>(stage.buffered_bytes) / 1e6);
      if (stage.queue_elements_max == 0) continue;
      events.scalar_at(at, tag_of("queue_elements", label), number,
                       static_cast<double>(stage.buffered_elements));
    }
  }
  return events.path();
}

}  // namespace infeed::tools
