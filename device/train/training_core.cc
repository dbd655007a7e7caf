#include "train/training_core.h"

#include <algorithm>

namespace infeed::detail {

ReplicaSteps::Outcome TrainingCore::run(const ReplicaFunction& forward,
                                        std::span<const ColumnBatch> shares, const Step& step) {
  ReplicaSteps::Outcome outcome =
      replicas_.train(forward, shares,
                      {.number = step.number,
                       .divisor = std::max<std::int64_t>(step.divisor, 1),
                       .loss_scale = step.loss_scale,
                       .trace = simulated_.trace_for(shares)});
  if (outcome.metrics.examples > 0) simulated_.add(shares, step.number, step.service_ns);
  return outcome;
}

}  // namespace infeed::detail
