#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <infeed/device/cost_model.h>
#include <infeed/device/slice.h>
#include <infeed/device/step_accounting.h>
#include <infeed/device/step_graph.h>
#include <infeed/records/column_batch.h>

#include "time/slice_clock.h"
#include "train/replica_steps.h"
#include "train/step_trace.h"

namespace infeed::detail {

struct SimulatedOptions {
  Precision precision =
      Precision::float32;  ///< the arithmetic's; `step` gets precision_on_tpu() of it
  StepOptions step = {};
  std::int32_t queue_depth = 2;  ///< batches that a host holds ready
  /// Costs of a step, instead of those of the graphs.
  std::optional<Workload> workload = std::nullopt;
};

/// Returns the account without the time of compiling.
StepSummary without_compilations(const StepSummary& summary,
                                 std::span<const Compilation> compilations);

/// Why: a step is the same whether fit() or a caller of Strategy::run() drives the loop. Replicas
/// compute it here, and SimulatedSteps tells when the slice would have: compute and all-reduce by
/// the time model, arrivals by the pipelines' time for each batch, through the recursion of
/// virtual_run.h.
///
/// Thread-safety: one thread at a time.
class SimulatedSteps {
 public:
  SimulatedSteps(const Slice& slice, SimulatedOptions options);

  /// `shares`: one a replica. `service_ns`: the time that each host's pipeline took for them; one
  /// value: for all hosts; empty: the batch was there. Throws resource_exhausted if the slice's
  /// memory can't hold such a step.
  ReplicaSteps::Outcome train(ReplicaSteps& replicas, const ReplicaFunction& forward,
                              std::span<const ColumnBatch> shares, ReplicaSteps::Step step,
                              std::span<const std::int64_t> service_ns);

  StepSummary summary() const { return accounting_.summary(); }
  StepSummary steady() const { return without_compilations(summary(), compilations()); }
  /// Returns the share of the slice's peak (cost_model.h) that so many examples take; 0 before a
  /// step.
  double model_flop_utilisation(double examples_per_s) const;
  const std::vector<Compilation>& compilations() const { return compilations_; }
  /// Returns the graph that was compiled last; null: there is none.
  const StepGraph* graph() const { return newest_; }

 private:
  /// `step` from 1.
  const StepGraph& compile(const StepTrace& trace, const ColumnBatch& share, std::int64_t step);
  std::vector<StepPart> parts_of(std::span<const ColumnBatch> shares,
                                 std::span<const std::int64_t> service_ns) const;

  Slice slice_;
  SimulatedOptions options_;
  std::map<std::string, StepGraph> graphs_;  ///< by signature
  std::vector<Compilation> compilations_;
  const StepGraph* newest_ = nullptr;    ///< points into graphs_
  std::vector<NamedType> newest_types_;  ///< columns of the last compilation
  Workload workload_;                    ///< costs of the last step
  StepAccounting accounting_;
  SliceClock clock_;
};

}  // namespace infeed::detail
