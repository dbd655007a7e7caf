#pragma once

#include <atomic>
#include <cstdint>
#include <vector>

#include <infeed/pipeline/statistics.h>
#include <infeed/pipeline/tuning_policy.h>

namespace infeed {

class IteratorContext;

namespace detail {

struct StageCounters;

/// Makes windows out of counters that only grow.
class TuningObserver {
 public:
  TuningObserver(IteratorContext& run, const std::atomic<std::uint64_t>& taken)
      : run_(run), taken_(taken) {}

  /// What has happened since the last call.
  TuningObservation look();

 private:
  void fill_stages(const PipelineStatistics& now, const std::vector<const StageCounters*>& counters,
                   TuningObservation& seen) const;
  double cores_of_others(const TuningObservation& seen);

  IteratorContext& run_;
  const std::atomic<std::uint64_t>& taken_;
  std::uint64_t taken_before_ = 0;
  PipelineStatistics before_;
  std::uint64_t machine_before_ns_ = 0;  ///< all cores' busy time
};

}  // namespace detail
}  // namespace infeed
