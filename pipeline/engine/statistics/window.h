#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include <infeed/pipeline/statistics.h>

#include "engine/stage_counters.h"

namespace infeed {

class IteratorContext;

namespace detail {

/// Figures of an iterator and its stages in a span of time, which recordings show and tuners decide
/// by.
struct Window {
  struct Stage {
    const StageCounters* counters;
    StageStatistics figures;  ///< figures that grow count this window alone
  };

  std::uint64_t begin_ns = 0;  ///< by the clock of whoever looks
  std::uint64_t length_ns = 0;
  std::uint64_t elapsed_ns = 0;  ///< the part of it since the iteration began
  std::uint64_t consumer_wait_ns = 0;
  std::uint64_t process_cpu_ns = 0;
  double cores = 0;            ///< that affinity and quotas allow
  double cores_of_others = 0;  ///< part of cores, on average used by other processes
  std::uint64_t memory_bytes = 0;
  std::uint64_t memory_limit_bytes = 0;
  std::uint64_t memory_refusals = 0;
  std::vector<Stage> stages;
};

/// Makes windows out of counters that only grow.
///
/// Thread-safety: none; one thread looks.
class WindowMaker {
 public:
  explicit WindowMaker(IteratorContext& run) : run_(run) {}

  /// Returns what has happened since the last look; `now_ns` is by the caller's clock.
  Window look(std::uint64_t now_ns);
  /// Returns the statistics at the last look.
  const PipelineStatistics& statistics() const { return before_; }
  const std::vector<const StageCounters*>& stages() const { return stages_; }

 private:
  void fill_cores(Window& window);
  void fill_stages(const PipelineStatistics& now, Window& window);

  IteratorContext& run_;
  PipelineStatistics before_;
  std::vector<const StageCounters*> stages_;
  std::unordered_map<const StageCounters*, StageStatistics> stages_before_;
  std::uint64_t before_ns_ = 0;
  std::uint64_t machine_before_ns_ = 0;  ///< all cores' busy time
  std::uint64_t refusals_before_ = 0;
  std::uint64_t limits_read_at_ns_ = 0;
  double cores_ = 0;
};

}  // namespace detail
}  // namespace infeed
