#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "train/replica_steps.h"
#include "train/simulated_steps.h"

namespace infeed::detail {

/// Why: a step is the same whoever drives the loop: fit(), or a caller of Strategy::run(). The
/// replicas compute it here, and the slice's clock says when they would have done so.
///
/// Thread-safety: one thread at a time.
class TrainingCore {
 public:
  TrainingCore(const Slice& slice, ReplicaStepsOptions replicas, SimulatedOptions simulated)
      : replicas_(std::move(replicas)), simulated_(slice, std::move(simulated)) {}

  ReplicaSteps& replicas() { return replicas_; }

  struct Step {
    std::int64_t number = 0;   ///< from 0
    std::int64_t divisor = 1;  ///< of the sum of all losses
    const nn::LossScale* loss_scale = nullptr;
    /// The time that each host's pipeline took; one value for all hosts; none: the batch was there.
    std::span<const std::int64_t> service_ns = {};
  };
  /// `shares`: one a replica. Error resource_exhausted: the slice's memory can't hold such a step.
  ReplicaSteps::Outcome run(const ReplicaFunction& forward, std::span<const ColumnBatch> shares,
                            const Step& step);

  const SimulatedSteps& simulated() const { return simulated_; }

 private:
  ReplicaSteps replicas_;
  SimulatedSteps simulated_;
};

}  // namespace infeed::detail
