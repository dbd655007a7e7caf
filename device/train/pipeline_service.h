#pragma once

#include <cstdint>

#include <infeed/pipeline/iterator.h>
#include <infeed/records/column_batch.h>

namespace infeed::detail {

/// Why: a slice waits for a pipeline that needs too long for a batch. next() alone doesn't show
/// that time: this machine computes a hundred times longer on a step than the slice would, and
/// meanwhile stages that run ahead fill their queues, so that next() returns at once. So the
/// busiest of their threads counts, too: a pipeline can't be quicker than that.
///
/// The times of stages that share a thread add up. The work of a stage on several threads is
/// divided by them. All stages together have no more than the machine's cores.
class PipelineService {
 public:
  /// Returns the time that the pipeline needed for a batch whose next() took `next_ns`.
  std::int64_t service_ns(const Iterator<ColumnBatch>& iterator, std::int64_t next_ns);

 private:
  void look(PipelineStatistics now);

  std::int64_t looked_ns_ = 0;  ///< when the statistics were last read
  std::int64_t batches_ = 0;    ///< batches since then
  std::int64_t next_ns_ = 0;    ///< time of their next() calls together
  PipelineStatistics before_;
  std::int64_t held_up_ns_ = 0;  ///< time by which a batch took longer than its next(), up to
                                 ///< looked_ns_
};

/// Returns how long the busiest thread worked, the consumer's aside.
std::int64_t busiest_thread_ns(const PipelineStatistics& before, const PipelineStatistics& now);

}  // namespace infeed::detail
