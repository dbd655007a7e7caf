#include "plan/plan_verdict.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <numeric>

#include "plan/plan_texts.h"

namespace infeed::tools {
namespace {

std::string cores_text(double cores) {
  return fmt::format("{:g} {}", cores, cores == 1 ? "core" : "cores");
}

std::string queue_text(int depth) {
  return depth == 0 ? "no queue" : fmt::format("a queue of {}", depth);
}

std::string hosts_text(int hosts) {
  return hosts == 1 ? "one host" : fmt::format("{} hosts", with_commas(hosts));
}

/// Says why no set-up within the limits holds the duty cycle.
std::string why_nothing_holds(const PlannedHosts& row, const PlanOptions& options,
                              const HostReplay& replay) {
  const std::vector<std::int64_t> times = replay.times_with(options.cores_max);
  const double mean_ps =
      std::accumulate(times.begin(), times.end(), 0.0) / static_cast<double>(times.size());
  if (mean_ps * options.duty_cycle >= static_cast<double>(row.device_step_ps)) {
    return fmt::format(
        "a batch takes {} with {} cores, and the step only {}: infeed profile names the stage that "
        "holds it up",
        time_text_of_ps(static_cast<std::int64_t>(mean_ps)), options.cores_max,
        time_text_of_ps(row.device_step_ps));
  }
  return fmt::format(
      "the slowest batch takes {}: infeed profile names slow records; --queue-max allows more than "
      "{} batches ready",
      time_text_of_ps(*std::ranges::max_element(times)), options.queue_max);
}

std::string remedy(const Plan& plan, const PlanOptions& options, const HostReplay& replay) {
  const PlannedHosts& last = plan.rows.back();
  if (last.queue_with_recorded_cores) {
    return fmt::format("{} holds it", queue_text(*last.queue_with_recorded_cores));
  }
  if (last.need) {
    return fmt::format("{} and {} a host hold it", cores_text(last.need->cores),
                       queue_text(last.need->queue_depth));
  }
  std::string text;
  for (const PlannedHosts& row : plan.rows) {
    if (!row.need) continue;
    text = fmt::format("{} and {} a host hold it up to {}, beyond ", cores_text(row.need->cores),
                       queue_text(row.need->queue_depth), hosts_text(row.hosts));
  }
  return fmt::format("{}nothing up to {} and {} does, since {}", text,
                     cores_text(options.cores_max), queue_text(options.queue_max),
                     why_nothing_holds(last, options, replay));
}

}  // namespace

std::string plan_verdict(const Plan& plan, const PlanOptions& options, const HostReplay& replay) {
  const HostSetUp& recorded = plan.rows.front().as_recorded;
  const std::string set_up =
      fmt::format("{} and {}", cores_text(recorded.cores), queue_text(recorded.queue_depth));
  const std::string target = fmt::format("{:g} %", 100 * plan.duty_cycle);
  const PlannedHosts& last = plan.rows.back();
  const auto fails = std::ranges::find_if(plan.rows, [&](const PlannedHosts& row) {
    return row.as_recorded.duty_cycle < plan.duty_cycle;
  });
  if (fails == plan.rows.end()) {
    return fmt::format("{} a host, as recorded, hold a duty cycle of {} up to {}.", set_up, target,
                       hosts_text(last.hosts));
  }
  if (fails == plan.rows.begin()) {
    // Rounded down, or 98.97 % would be "99.0 %, not 99 %".
    const double reached = std::floor(1000 * last.as_recorded.duty_cycle) / 1000;
    return fmt::format("{} a host, as recorded, reach {} with {}, not {}: {}.", set_up,
                       percent_text_of_share(reached), hosts_text(last.hosts), target,
                       remedy(plan, options, replay));
  }
  return fmt::format(
      "Up to {} {} a host, as recorded, hold a duty cycle of {}; the slowest of {} costs {}: {}.",
      hosts_text(std::prev(fails)->hosts), set_up, target, hosts_text(last.hosts),
      percent_text_of_share(last.cost_of_slowest), remedy(plan, options, replay));
}

std::vector<std::string> plan_notes(const Plan& plan, const PlanOptions& options,
                                    const HostReplay& replay, const RecordedRun& run) {
  std::vector<std::string> notes;
  if (options.slice.empty() && plan.rows.back().hosts < kPlannedHostsMax) {
    notes.push_back(fmt::format("{} batches show the slowest of {}; {} are needed for 1,024",
                                with_commas(plan.recorded_batches),
                                hosts_text(plan.rows.back().hosts),
                                with_commas(batches_needed(kPlannedHostsMax))));
  }
  if (!run.has_steps) {
    notes.push_back(
        "nobody timed the steps: what the loop did between two calls of next() is taken for the "
        "step");
  }
  if (replay.service().works_in_step) {
    notes.push_back(
        "the recorded pipeline did most of its work in the step's thread; the plan has a prefetch "
        "at its end");
  }
  const FlowModel::Costs& costs = replay.model().costs();
  if (costs.cores_of_others > 0) {
    notes.push_back(fmt::format(
        "other processes had {:.1f} of {:g} cores in the recorded run; planned hosts have none",
        costs.cores_of_others, costs.cores));
  }
  if (replay.model().seconds() <= 0) {
    notes.push_back("no window was recorded, so that cores and storage aren't known");
  }
  return notes;
}

}  // namespace infeed::tools
