#include "train/simulated_steps.h"

#include <algorithm>
#include <limits>
#include <utility>

#include <infeed/device/hbm_need.h>

#include "train/replica_steps.h"

namespace infeed::detail {
namespace {

StepOptions step_options_of(const SimulatedOptions& options) {
  const std::int64_t steps = std::clamp<std::int64_t>(options.steps_per_execution, 1,
                                                      std::numeric_limits<std::int32_t>::max());
  // No TPU has float16; it takes as long as the two bytes that they have.
  const bool is_mixed = options.precision != Precision::float32;
  return {.precision = is_mixed ? Precision::mixed_bfloat16 : Precision::float32,
          .steps_per_execution = static_cast<std::int32_t>(steps),
          .devices_of_replica = options.devices_of_replica};
}

}  // namespace

SimulatedSteps::SimulatedSteps(const Slice& slice, SimulatedOptions options)
    : slice_(slice),
      options_(std::move(options)),
      step_options_(step_options_of(options_)),
      accounting_(slice.num_replicas(options_.devices_of_replica)) {}

StepTrace* SimulatedSteps::trace_for(std::span<const ColumnBatch> shares) {
  trace_ = {};
  return graphs_.find(largest_share(shares)) == nullptr ? &trace_ : nullptr;
}

void SimulatedSteps::add(std::span<const ColumnBatch> shares, std::int64_t step) {
  const ColumnBatch& largest = largest_share(shares);
  std::int64_t compilation = 0;
  const StepGraph* graph = graphs_.find(largest);
  if (graph == nullptr) {
    graph = &graphs_.add(trace_, largest, options_.precision, step + 1);
    compilation = compilations().back().compilation_ps;
  }
  std::int64_t examples = 0;
  for (const ColumnBatch& share : shares) examples += share.rows();
  examples = std::max<std::int64_t>(examples, 1);
  const Workload workload = options_.workload ? *options_.workload : graph->workload();
  if (compilation > 0) check_hbm(workload, slice_, examples, step_options_);
  const StepTime time = step_time(workload, slice_, examples, step_options_);
  const auto bytes = static_cast<std::int64_t>(largest.bytes());
  const std::int64_t transfer = transfer_ps(slice_.chip(), bytes * slice_.replicas_per_chip());
  std::vector<StepEvent> events;
  events.reserve(shares.size());
  for (const ColumnBatch& share : shares) {
    events.push_back({.step = step,
                      .replica = static_cast<std::int32_t>(events.size()),
                      .examples = share.rows(),
                      .begin_ps = end_ps_,
                      .transfer_ps = std::max<std::int64_t>(0, transfer - step_ps_),
                      .idle_ps = compilation,
                      .compute_ps = time.compute_ps,
                      .all_reduce_ps = time.all_reduce_ps});
  }
  accounting_.add(events);
  end_ps_ = events.front().end_ps();
  step_ps_ = time.total_ps();
}

}  // namespace infeed::detail
