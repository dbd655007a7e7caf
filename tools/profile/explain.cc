#include <algorithm>
#include <fmt/format.h>
#include <map>
#include <utility>

#include "cli/terminal.h"
#include "profile/blame.h"
#include "profile/flow_model.h"
#include "profile/profile_report.h"
#include "profile/what_ifs.h"

namespace infeed::tools {
namespace {

constexpr double kHighlyPercent = 20;
constexpr double kModeratelyPercent = 5;
constexpr double kOthersNamed = 0.25;  // their share of the cores
// A run that was cut is said to have stood still if it had no step for kStandsStillNs, or for so many
// steps, if that is longer.
constexpr std::uint64_t kStandsStillSteps = 10;

void add_up_steps(const RecordedRun& run, ProfileReport& report) {
  for (const RecordedStep& step : run.steps) {
    report.slowest_step_ns = std::max(report.slowest_step_ns, step.length_ns());
  }
  std::uint64_t elements = 0;
  for (const RecordedStep& step : run.detailed_steps()) {
    elements += step.elements;
    report.infeed_wait_ns += step.infeed_wait_ns;
    report.transfer_ns += step.transfer_ns;
    report.compute_ns += step.compute_ns;
    report.all_reduce_ns += step.all_reduce_ns;
    report.idle_ns += step.idle_ns;
  }
  const std::uint64_t all_ns = report.infeed_wait_ns + report.transfer_ns + report.compute_ns +
                               report.all_reduce_ns + report.idle_ns;
  if (all_ns == 0) return;
  const auto seconds = static_cast<double>(all_ns) / 1e9;
  report.input_bound_percent =
      100 * static_cast<double>(report.infeed_wait_ns) / static_cast<double>(all_ns);
  report.steps_per_s = static_cast<double>(run.steps_taken()) / seconds;
  report.elements_per_s = static_cast<double>(elements) / seconds;
  report.typical_step_ns = typical_step(run).length_ns;
}

void add_up_stages(const RecordedRun& run, ProfileReport& report) {
  for (std::size_t i = 0; i < run.stages.size(); ++i) {
    report.stages.push_back({.stage = static_cast<int>(i)});
  }
  std::uint64_t length_ns = 0;
  std::uint64_t elements = 0;
  for (const RecordedWindow& window : run.windows) {
    length_ns += window.length_ns;
    elements += window.elements;
    for (const StageWindow& row : window.stages) {
      StageShare& share = report.stages[static_cast<std::size_t>(row.stage)];
      share.elements += row.elements;
      share.cpu_ns += row.cpu_ns;
      share.blocked_ns += row.blocked_ns;
      share.wait_ns += row.wait_ns;
      share.full_ns += row.full_ns;
      share.memory_bytes_peak = std::max(share.memory_bytes_peak, row.buffered_bytes);
      share.parallelism = row.parallelism;
    }
  }
  if (length_ns == 0) return;
  const auto seconds = static_cast<double>(length_ns) / 1e9;
  // Windows also have elements that were made ahead, many of a short run's.
  if (report.elements_per_s == 0) report.elements_per_s = static_cast<double>(elements) / seconds;
  for (StageShare& share : report.stages) {
    share.elements_per_s = static_cast<double>(share.elements) / seconds;
    const auto busy_s = static_cast<double>(share.cpu_ns + share.blocked_ns) / 1e9;
    if (busy_s > 0) {
      share.elements_per_s_max = static_cast<double>(share.elements) * share.parallelism / busy_s;
    }
  }
}

/// Names the cause that cost most time, and its part: few steps may have cost nearly all.
std::string costliest_cause(const RecordedRun& run, const ProfileReport& report) {
  struct Group {
    Cause cause;
    int stage;
    std::uint64_t late_ns = 0;
  };
  std::vector<Group> groups;
  std::map<std::pair<Cause, int>, std::size_t> places;
  std::uint64_t all_ns = 0;
  for (const LateStep& late : report.late_steps) {
    if (late.begin_ns < run.detail_from_ns) continue;
    all_ns += late.late_ns;
    const auto [place, is_new] = places.try_emplace({late.cause, late.stage}, groups.size());
    if (is_new) groups.push_back({late.cause, late.stage});
    groups[place->second].late_ns += late.late_ns;
  }
  if (groups.empty()) return {};
  const auto worst =
      std::max_element(groups.begin(), groups.end(),
                       [](const Group& a, const Group& b) { return a.late_ns < b.late_ns; });
  const std::string stage =
      worst->stage < 0 ? "" : " in " + run.stages[static_cast<std::size_t>(worst->stage)].label;
  return fmt::format("; {} of the {} that steps came late: {}{}", duration_text(worst->late_ns),
                     duration_text(all_ns), words_of(worst->cause), stage);
}

/// Names other processes where they had a good part of the cores for the whole run.
std::string others_text(const RecordedRun& run) {
  double others_ns = 0;
  double length_ns = 0;
  for (const RecordedWindow& window : run.windows) {
    others_ns += window.cores_of_others * static_cast<double>(window.length_ns);
    length_ns += static_cast<double>(window.length_ns);
  }
  if (length_ns == 0 || others_ns < kOthersNamed * run.cores * length_ns) return {};
  return fmt::format("; other processes had {:.1f} of the {:.3g} cores", others_ns / length_ns,
                     run.cores);
}

/// Says how long a run that was killed, or still runs, has had no step: nothing else shows a wait that
/// hasn't ended.
std::string standstill_text(const RecordedRun& run, const ProfileReport& report) {
  const std::uint64_t since_ns = run.since_last_step_ns();
  const bool stands_still =
      since_ns > kStandsStillNs && since_ns / kStandsStillSteps > report.typical_step_ns;
  if (!run.is_cut || !stands_still) return {};
  return fmt::format("; no step ended in the last {} of the recording", duration_text(since_ns));
}

std::string verdict_of(const RecordedRun& run, const ProfileReport& report) {
  if (run.steps.empty() && run.windows.empty()) return "nothing was recorded";
  if (report.steps_per_s <= 0) {
    return "no step was recorded, so it isn't known how long steps wait for input" +
           others_text(run) + standstill_text(run, report);
  }
  const double percent = report.input_bound_percent;
  std::string verdict = percent >= kHighlyPercent       ? "highly input-bound"
                        : percent >= kModeratelyPercent ? "moderately input-bound"
                                                        : "not input-bound";
  verdict = fmt::format("{}: {:.1f} % of the steps' time is waiting for input", verdict, percent);
  if (percent >= kModeratelyPercent && report.bottleneck >= 0) {
    verdict += fmt::format("; the slowest stage is {}",
                           run.stages[static_cast<std::size_t>(report.bottleneck)].label);
  }
  return verdict + costliest_cause(run, report) + others_text(run) + standstill_text(run, report);
}

}  // namespace

ProfileReport explain(const RecordedRun& run, const std::stop_token& stop) {
  ProfileReport report;
  add_up_steps(run, report);
  add_up_stages(run, report);
  const FlowModel model(run);
  report.bottleneck = model.bottleneck();
  if (report.bottleneck >= 0) {
    report.stages[static_cast<std::size_t>(report.bottleneck)].is_bottleneck = true;
  }
  report.late_steps = late_steps(run, model, stop);
  report.pipeline_steps_per_s_max = model.pipeline_steps_per_s();
  report.device_steps_per_s_max = model.device_steps_per_s();
  // Older late steps say nothing about the time that is explained.
  const auto detailed = std::ranges::find_if(report.late_steps, [&run](const LateStep& late) {
    return late.begin_ns >= run.detail_from_ns;
  });
  report.what_ifs = what_ifs(run, model, {detailed, report.late_steps.end()});
  report.verdict = verdict_of(run, report);
  return report;
}

}  // namespace infeed::tools
