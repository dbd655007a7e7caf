#include "train/pipeline_service.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "time/clock_units.h"

namespace infeed::detail {
namespace {

/// Time between two looks: one costs some microseconds a stage, and a thread's work counts only
/// when its call returns.
constexpr std::int64_t kLookNs = 100'000'000;
constexpr std::int64_t kBatchesMin = 4;

/// Returns the stage whose thread pulls this one; -1: the consumer's.
int lane_of(const PipelineStatistics& statistics, std::size_t stage) {
  int consumer = statistics.stages[stage].consumer;
  while (consumer >= 0 && !statistics.stages[static_cast<std::size_t>(consumer)].runs_ahead) {
    consumer = statistics.stages[static_cast<std::size_t>(consumer)].consumer;
  }
  return consumer;
}

/// Returns the number of threads that read inside a flat_map or interleave.
int readers_of(const PipelineStatistics& statistics, std::size_t stage) {
  const int inside = statistics.stages[stage].inside;
  if (inside < 0) return 1;
  return std::max(1, statistics.stages[static_cast<std::size_t>(inside)].parallelism);
}

double more(std::uint64_t before, std::uint64_t now) {
  return now > before ? static_cast<double>(now - before) : 0;
}

}  // namespace

std::int64_t busiest_thread_ns(const PipelineStatistics& before, const PipelineStatistics& now) {
  std::vector<double> lanes(now.stages.size(), 0);
  double busiest_ns = 0;
  double cpu_ns = 0;
  for (std::size_t i = 0; i < now.stages.size(); ++i) {
    const StageStatistics& stage = now.stages[i];
    const double work_ns = more(before.stages[i].work_ns, stage.work_ns);
    cpu_ns += more(before.stages[i].cpu_ns.value_or(0), stage.cpu_ns.value_or(0));
    const int lane = lane_of(now, i);
    if (stage.runs_ahead && stage.parallelism > 1) {
      busiest_ns = std::max(busiest_ns, work_ns / stage.parallelism);
    } else if (lane >= 0) {  // next() counts the consumer's own thread
      lanes[static_cast<std::size_t>(lane)] += work_ns / readers_of(now, i);
    }
  }
  for (const double lane_ns : lanes) busiest_ns = std::max(busiest_ns, lane_ns);
  return static_cast<std::int64_t>(std::max(busiest_ns, cpu_ns / std::max(1, now.cores)));
}

std::int64_t PipelineService::service_ns(const Iterator<ColumnBatch>& iterator,
                                         std::int64_t next_ns) {
  ++batches_;
  next_ns_ += next_ns;
  const std::int64_t now_ns = monotonic_ns();
  if (looked_ns_ == 0 || (now_ns - looked_ns_ >= kLookNs && batches_ >= kBatchesMin)) {
    look(iterator.statistics());
    looked_ns_ = now_ns;
  }
  return next_ns + held_up_ns_;
}

void PipelineService::look(PipelineStatistics now) {
  const bool runs_ahead = std::ranges::any_of(now.stages, &StageStatistics::runs_ahead);
  if (runs_ahead && now.stages.size() == before_.stages.size()) {
    const std::int64_t all_ns = busiest_thread_ns(before_, now);
    held_up_ns_ = std::max<std::int64_t>(0, all_ns - next_ns_) / batches_;
  }
  before_ = std::move(now);
  batches_ = 0;
  next_ns_ = 0;
}

}  // namespace infeed::detail
