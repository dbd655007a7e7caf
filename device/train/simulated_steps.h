#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include <infeed/device/cost_model.h>
#include <infeed/device/slice.h>
#include <infeed/device/step_accounting.h>
#include <infeed/records/column_batch.h>

#include "time/slice_clock.h"
#include "train/step_graphs.h"

// The steps' times on the slice: compute and all-reduce by the time model, arrivals by what
// the pipelines took for each batch, through the recursion of virtual_run.h.

namespace infeed::detail {

struct SimulatedOptions {
  Precision precision = Precision::float32;
  std::int64_t steps_per_execution = 1;
  std::int64_t batches_per_update = 1;
  StepOptimizer optimizer = StepOptimizer::adam;
  bool synchronised = false;
  std::int32_t queue_depth = 2;  ///< batches that a host holds ready
  std::int32_t devices_of_replica = 1;
  /// Its times, rather than those of the graphs.
  std::optional<Workload> workload = std::nullopt;
};

/// Returns the account without what was compiled once.
StepSummary without_compilations(StepSummary summary, std::span<const Compilation> compilations);

class SimulatedSteps {
 public:
  SimulatedSteps(const Slice& slice, SimulatedOptions options);

  /// Where the step of these shares, one a replica, is to be traced; null when its graph is there.
  StepTrace* trace_for(std::span<const ColumnBatch> shares);
  /// Behind the step, `step` from 0. `service_ns`: what each host's pipeline took for it; one for all
  /// hosts; none: input is always ready.
  void add(std::span<const ColumnBatch> shares, std::int64_t step,
           std::span<const std::int64_t> service_ns = {});

  StepSummary summary() const { return accounting_.summary(); }
  StepSummary steady() const { return without_compilations(summary(), compilations()); }
  /// The share of the slice's peak (cost_model.h) that so many examples take; 0 before a step.
  double model_flop_utilisation(double examples_per_s) const;
  const std::vector<Compilation>& compilations() const { return graphs_.compilations(); }
  const StepGraph* graph() const { return graphs_.newest(); }

 private:
  std::vector<StepPart> parts_of(std::span<const ColumnBatch> shares,
                                 std::span<const std::int64_t> service_ns) const;

  Slice slice_;
  SimulatedOptions options_;
  StepOptions step_options_;
  StepGraphs graphs_;
  StepTrace trace_;    ///< of the step at hand
  Workload workload_;  ///< of the last step
  StepAccounting accounting_;
  SliceClock clock_;
};

}  // namespace infeed::detail
