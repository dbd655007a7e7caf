#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <optional>

#include <infeed/device/step_accounting.h>
#include <infeed/pipeline/recording.h>

#include "time/clock_units.h"

namespace infeed::detail {

/// Why: the times of this process in each step of a training, by its own clock: waiting for the
/// replicas' queues, computing (with the update), adding up gradients, and idling (callbacks). Work
/// between epochs, as validation, belongs to no step.
///
/// Thread-safety: one thread at a time.
class WallAccount {
 public:
  /// Begins the next step with its own wait.
  void pause() { last_end_ns_.reset(); }
  struct Parts {
    std::int64_t wait_ns = 0;
    std::int64_t begin_ns = 0;  ///< when the step's data was there
    std::int64_t reduce_ns = 0;
    std::int64_t examples = 0;
  };
  /// Adds a step that ends now and returns it in the profiler's form.
  StepTimes add(const Parts& parts) {
    using std::chrono::nanoseconds;
    const std::int64_t end_ns = monotonic_ns();
    const std::int64_t begin_ns = last_end_ns_.value_or(parts.begin_ns - parts.wait_ns);
    const std::int64_t idle_ns =
        std::max<std::int64_t>(0, parts.begin_ns - begin_ns - parts.wait_ns);
    const std::int64_t compute_ns = end_ns - begin_ns - parts.wait_ns - idle_ns - parts.reduce_ns;
    const StepEvent event{.step = number_++,
                          .examples = parts.examples,
                          .begin_ps = (begin_ns - origin_ns_) * kPsPerNs,
                          .infeed_wait_ps = parts.wait_ns * kPsPerNs,
                          .idle_ps = idle_ns * kPsPerNs,
                          .compute_ps = compute_ns * kPsPerNs,
                          .all_reduce_ps = parts.reduce_ns * kPsPerNs};
    accounting_.add({&event, 1});
    last_end_ns_ = end_ns;
    return {.begin = std::chrono::steady_clock::time_point(nanoseconds(begin_ns)),
            .infeed_wait = nanoseconds(parts.wait_ns),
            .compute = nanoseconds(compute_ns),
            .all_reduce = nanoseconds(parts.reduce_ns),
            .idle = nanoseconds(idle_ns)};
  }
  StepSummary summary() const {
    StepSummary summary = accounting_.summary();
    summary.clock = StepClock::wall;
    return summary;
  }

 private:
  StepAccounting accounting_{1};
  const std::int64_t origin_ns_ = monotonic_ns();
  std::int64_t number_ = 0;
  std::optional<std::int64_t> last_end_ns_;
};

}  // namespace infeed::detail
