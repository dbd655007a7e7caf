#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include <infeed/device/cost_model.h>
#include <infeed/device/slice.h>
#include <infeed/device/step_accounting.h>
#include <infeed/records/column_batch.h>

#include "train/step_graphs.h"

// What steps would have taken on the slice: times come from the cost model, never from the clock.

namespace infeed::detail {

struct SimulatedOptions {
  Precision precision = Precision::float32;
  std::int64_t steps_per_execution = 1;
  std::int32_t devices_of_replica = 1;
  /// Its times, rather than those of the graphs.
  std::optional<Workload> workload = std::nullopt;
};

class SimulatedSteps {
 public:
  SimulatedSteps(const Slice& slice, SimulatedOptions options);

  /// Where the step of these shares, one a replica, is to be traced; null when its graph is there.
  StepTrace* trace_for(std::span<const ColumnBatch> shares);
  /// Behind the step, `step` from 0. Its transfer runs while the step before computes.
  void add(std::span<const ColumnBatch> shares, std::int64_t step);

  StepSummary summary() const { return accounting_.summary(); }
  const std::vector<Compilation>& compilations() const { return graphs_.compilations(); }

 private:
  Slice slice_;
  SimulatedOptions options_;
  StepOptions step_options_;
  StepGraphs graphs_;
  StepTrace trace_;  ///< of the step at hand
  StepAccounting accounting_;
  std::int64_t end_ps_ = 0;
  std::int64_t step_ps_ = 0;
};

}  // namespace infeed::detail
