#pragma once

#include <cstdint>

#include <infeed/pipeline/iterator.h>
#include <infeed/records/column_batch.h>

namespace infeed::detail {

/// Why: how long a pipeline needs for a batch decides whether a slice would wait for it. next() alone
/// doesn't tell: while this machine computes a step, for which the slice needs a hundredth of the
/// time, stages that run ahead fill their queues, and next() returns at once. So the busiest of their
/// threads is asked for, too: a pipeline can't be quicker than that.
///
/// The times of stages that share a thread add up; one that works on several threads has its work
/// divided by them; and all of them together have no more than the machine's cores.
class PipelineService {
 public:
  /// Returns the time that the pipeline needs for a batch which next() gave after so long.
  std::int64_t service_ns(const Iterator<ColumnBatch>& iterator, std::int64_t next_ns);

 private:
  void look(PipelineStatistics now);

  std::int64_t looked_ns_ = 0;  ///< when, last
  std::int64_t batches_ = 0;    ///< since then
  std::int64_t next_ns_ = 0;    ///< and what they took together
  PipelineStatistics before_;
  std::int64_t held_up_ns_ = 0;  ///< that a batch took longer than its next(), up to then
};

/// For how long that thread was busy which was busiest, the consumer's aside.
std::int64_t busiest_thread_ns(const PipelineStatistics& before, const PipelineStatistics& now);

}  // namespace infeed::detail
