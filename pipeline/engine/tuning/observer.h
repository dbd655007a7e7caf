#pragma once

#include <atomic>
#include <cstdint>

#include <infeed/pipeline/tuning_policy.h>

#include "engine/statistics/window.h"

namespace infeed::detail {

/// Makes the observations that a tuner decides by: a window of the figures, and the knobs.
class TuningObserver {
 public:
  TuningObserver(IteratorContext& run, const std::atomic<std::uint64_t>& taken)
      : run_(run), taken_(taken) {}

  /// Returns what has happened since the last call.
  TuningObservation look();

 private:
  IteratorContext& run_;
  const std::atomic<std::uint64_t>& taken_;
  std::uint64_t taken_before_ = 0;
  WindowMaker windows_{run_};
};

}  // namespace infeed::detail
