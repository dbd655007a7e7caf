#include "train/simulated_steps.h"

#include <algorithm>
#include <utility>
#include <vector>

#include <infeed/device/device_batch.h>

namespace infeed::detail {

SimulatedSteps::SimulatedSteps(const Slice& slice, std::optional<Workload> workload)
    : slice_(slice), workload_(std::move(workload)), accounting_(slice.num_replicas()) {}

void SimulatedSteps::add(std::int64_t examples, std::size_t bytes, std::int64_t step) {
  if (!workload_) return;
  const StepTime time = step_time(*workload_, slice_, examples);
  const std::int64_t replicas = slice_.num_replicas();
  const std::int64_t per_replica = (static_cast<std::int64_t>(bytes) + replicas - 1) / replicas;
  const std::int64_t transfer =
      transfer_ps(slice_.chip(), per_replica * slice_.replicas_per_chip());
  std::vector<StepEvent> events;
  events.reserve(static_cast<std::size_t>(replicas));
  for (std::int32_t r = 0; r < slice_.num_replicas(); ++r) {
    events.push_back({.step = step,
                      .replica = r,
                      .examples = examples_of_replica(examples, slice_.num_replicas(), r),
                      .begin_ps = end_ps_,
                      .transfer_ps = std::max<std::int64_t>(0, transfer - step_ps_),
                      .compute_ps = time.compute_ps,
                      .all_reduce_ps = time.all_reduce_ps});
  }
  accounting_.add(events);
  end_ps_ = events.front().end_ps();
  step_ps_ = time.total_ps();
}

}  // namespace infeed::detail
