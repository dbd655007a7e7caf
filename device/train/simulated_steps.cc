#include "train/simulated_steps.h"

#include <algorithm>
#include <utility>

#include <infeed/device/hbm_need.h>

#include "time/clock_units.h"

namespace infeed::detail {
StepSummary without_compilations(const StepSummary& summary,
                                 std::span<const Compilation> compilations) {
  std::int64_t all_ps = 0;
  for (const Compilation& one : compilations) all_ps += one.compilation_ps;
  return summary.without_idle(all_ps);
}

SimulatedSteps::SimulatedSteps(const Slice& slice, SimulatedOptions options)
    : slice_(slice),
      options_(std::move(options)),
      accounting_(slice.num_hosts()),
      clock_(static_cast<std::size_t>(slice.num_hosts()), options_.queue_depth) {
  options_.step.precision = precision_on_tpu(options_.precision);
}

ReplicaSteps::Outcome SimulatedSteps::train(ReplicaSteps& replicas, const ReplicaFunction& forward,
                                            std::span<const ColumnBatch> shares,
                                            ReplicaSteps::Step step,
                                            std::span<const std::int64_t> service_ns) {
  const ColumnBatch& largest = largest_share(shares);
  const auto known = graphs_.find(signature_of(types_of(largest)));
  const bool is_new = known == graphs_.end();
  StepTrace trace;
  if (is_new) step.trace = &trace;
  step.divisor = std::max<std::int64_t>(step.divisor, 1);
  ReplicaSteps::Outcome outcome = replicas.train(forward, shares, step);
  // The rank that runs the replica with the largest share keeps the account: the chief.
  const bool is_here = replicas.own().contains(static_cast<std::int32_t>(&largest - shares.data()));
  if (outcome.metrics.examples == 0 || !is_here) return outcome;
  const StepGraph& graph = is_new ? compile(trace, largest, step.number + 1) : known->second;
  workload_ = options_.workload ? *options_.workload : graph.workload();
  if (is_new) check_hbm(workload_, slice_, outcome.metrics.examples, options_.step);
  const StepTime time = step_time(workload_, slice_, outcome.metrics.examples, options_.step);
  accounting_.add(clock_.step(
      parts_of(shares, service_ns),
      {.time = time, .compilation_ps = is_new ? compilations_.back().compilation_ps : 0}));
  return outcome;
}

const StepGraph& SimulatedSteps::compile(const StepTrace& trace, const ColumnBatch& share,
                                         std::int64_t step) {
  StepGraph graph(trace, share, options_.precision);
  std::vector<NamedType> types = types_of(share);
  compilations_.push_back({.step = step,
                           .signature = graph.signature(),
                           .reason = newest_types_.empty() ? "" : difference(types, newest_types_),
                           .operations = static_cast<std::int32_t>(graph.operations().size()),
                           .kernels = graph.kernels(),
                           .compilation_ps = compilation_ps(graph.workload())});
  newest_types_ = std::move(types);
  newest_ = &graphs_.emplace(graph.signature(), std::move(graph)).first->second;
  return *newest_;
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
    const auto count =
        static_cast<std::size_t>(slice_.replicas_of_host(static_cast<std::int32_t>(host)) /
                                 options_.step.devices_of_replica);
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
