#pragma once

#include <cstdint>
#include <optional>

#include <infeed/device/step_accounting.h>
#include <infeed/pipeline/recording.h>

namespace infeed::detail {

/// Why: what this process did for each step of a training, by its own clock: how long it waited for the
/// replicas' queues, computed (with the update), added up gradients, and was idle (callbacks). What
/// lies between epochs, as validation, belongs to no step.
///
/// Thread-safety: one thread at a time.
class WallAccount {
 public:
  WallAccount();

  /// The next step begins with its own wait.
  void pause() { last_end_ns_.reset(); }
  struct Parts {
    std::int64_t wait_ns = 0;
    std::int64_t begin_ns = 0;  ///< when the step's data was there
    std::int64_t reduce_ns = 0;
    std::int64_t examples = 0;
  };
  /// A step that ends now; it is given back as the profiler wants it.
  StepTimes add(const Parts& parts);
  StepSummary summary() const;

 private:
  StepAccounting accounting_;
  const std::int64_t origin_ns_;
  std::int64_t number_ = 0;
  std::optional<std::int64_t> last_end_ns_;
};

}  // namespace infeed::detail
