#include "train/simulated_steps.h"

#include <algorithm>
#include <limits>
#include <utility>

#include <infeed/device/hbm_need.h>

#include "time/picoseconds.h"
#include "train/replica_steps.h"

namespace infeed::detail {
namespace {

std::int32_t clamped(std::int64_t count) {
  return static_cast<std::int32_t>(
      std::clamp<std::int64_t>(count, 1, std::numeric_limits<std::int32_t>::max()));
}

StepOptions step_options_of(const SimulatedOptions& options) {
  return {.precision = precision_on_tpu(options.precision),
          .optimizer = options.optimizer,
          .steps_per_execution = clamped(options.steps_per_execution),
          .batches_per_update = clamped(options.batches_per_update),
          .synchronised = options.synchronised,
          .devices_of_replica = options.devices_of_replica};
}

}  // namespace

StepSummary without_compilations(StepSummary summary, std::span<const Compilation> compilations) {
  const auto before_ps = static_cast<double>(summary.span_ps);
  for (const Compilation& one : compilations) {
    summary.idle_ps -= one.compilation_ps;
    summary.step_ps -= one.compilation_ps;
    summary.span_ps -= one.compilation_ps;
  }
  if (summary.step_ps <= 0) return summary;
  const auto span_ps = static_cast<double>(summary.span_ps);
  const double seconds = span_ps / kPsPerSecond;
  summary.steps_per_s = static_cast<double>(summary.steps) / seconds;
  summary.examples_per_s = static_cast<double>(summary.examples) / seconds;
  summary.duty_cycle = summary.duty_cycle * before_ps / span_ps;
  summary.infeed_wait_share =
      static_cast<double>(summary.infeed_wait_ps) / static_cast<double>(summary.step_ps);
  summary.verdict = input_verdict(summary.infeed_wait_share);
  return summary;
}

SimulatedSteps::SimulatedSteps(const Slice& slice, SimulatedOptions options)
    : slice_(slice),
      options_(std::move(options)),
      step_options_(step_options_of(options_)),
      accounting_(slice.num_hosts()),
      clock_(static_cast<std::size_t>(slice.num_hosts()), options_.queue_depth) {}

StepTrace* SimulatedSteps::trace_for(std::span<const ColumnBatch> shares) {
  trace_ = {};
  return graphs_.find(largest_share(shares)) == nullptr ? &trace_ : nullptr;
}

void SimulatedSteps::add(std::span<const ColumnBatch> shares, std::int64_t step,
                         std::span<const std::int64_t> service_ns) {
  const ColumnBatch& largest = largest_share(shares);
  std::int64_t compilation = 0;
  const StepGraph* graph = graphs_.find(largest);
  if (graph == nullptr) {
    graph = &graphs_.add(trace_, largest, options_.precision, step + 1);
    compilation = compilations().back().compilation_ps;
  }
  const std::int64_t examples = std::max<std::int64_t>(rows_of(shares), 1);
  workload_ = options_.workload ? *options_.workload : graph->workload();
  if (compilation > 0) check_hbm(workload_, slice_, examples, step_options_);
  const StepTime time = step_time(workload_, slice_, examples, step_options_);
  accounting_.add(
      clock_.step(parts_of(shares, service_ns), {.time = time, .compilation_ps = compilation}));
}

double SimulatedSteps::model_flop_utilisation(double examples_per_s) const {
  return infeed::model_flop_utilisation(workload_, slice_, examples_per_s);
}

/// The replicas of a host are next to each other.
std::vector<StepPart> SimulatedSteps::parts_of(std::span<const ColumnBatch> shares,
                                               std::span<const std::int64_t> service_ns) const {
  std::vector<StepPart> parts(static_cast<std::size_t>(slice_.num_hosts()));
  std::size_t first = 0;
  for (std::size_t host = 0; host < parts.size(); ++host) {
    const auto count = static_cast<std::size_t>(
        slice_.replicas_of_host(static_cast<std::int32_t>(host)) / options_.devices_of_replica);
    const std::span<const ColumnBatch> of_host = shares.subspan(first, count);
    first += count;
    parts[host].examples = rows_of(of_host);
    if (!service_ns.empty()) {
      parts[host].service_ps = service_ns[std::min(host, service_ns.size() - 1)] * kPsPerNs;
    }
    const auto bytes = static_cast<std::int64_t>(largest_share(of_host).bytes());
    parts[host].transfer_ps = transfer_ps(slice_.chip(), bytes * slice_.replicas_per_chip());
  }
  return parts;
}

}  // namespace infeed::detail
