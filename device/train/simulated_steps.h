#pragma once

#include <cstdint>
#include <optional>

#include <infeed/device/cost_model.h>
#include <infeed/device/slice.h>
#include <infeed/device/step_accounting.h>

// What steps would have taken on the slice: times come from the cost model, never from the clock.

namespace infeed::detail {

class SimulatedSteps {
 public:
  SimulatedSteps(const Slice& slice, std::optional<Workload> workload);

  /// Its transfer runs while the step before computes.
  void add(std::int64_t examples, std::size_t bytes, std::int64_t step);
  StepSummary summary() const { return accounting_.summary(); }

 private:
  Slice slice_;
  std::optional<Workload> workload_;
  StepAccounting accounting_;
  std::int64_t end_ps_ = 0;
  std::int64_t step_ps_ = 0;
};

}  // namespace infeed::detail
