#include "engine/tuning/observer.h"

#include <algorithm>
#include <thread>
#include <utility>

#include "engine/iterator_context.h"
#include "engine/threads/cpu_limits.h"
#include "engine/tuning/group_memory.h"

namespace infeed::detail {
namespace {

std::uint64_t grown(std::uint64_t now, std::uint64_t before) { return now - std::min(now, before); }

/// The pass under way counts as half of one.
std::uint64_t pass_bytes(const StageStatistics& stage, const StageCounters& counters) {
  const std::uint64_t passes = counters.passes.load(std::memory_order_relaxed);
  if (passes < 2 || counters.draws || counters.outer != nullptr) return 0;
  return static_cast<std::uint64_t>(static_cast<double>(stage.bytes) /
                                    (static_cast<double>(passes) - 0.5));
}

}  // namespace

TuningObservation TuningObserver::look() {
  std::vector<const StageCounters*> stages;
  PipelineStatistics now = run_.counters().statistics(&stages);
  TuningObservation seen;
  seen.at_ns = now.elapsed_ns;
  seen.window_ns = grown(now.elapsed_ns, before_.elapsed_ns);
  seen.consumer_wait_ns = grown(now.consumer_wait_ns, before_.consumer_wait_ns);
  seen.process_cpu_ns = grown(now.process_cpu_ns, before_.process_cpu_ns);
  seen.cores = usable_cpu_time();
  seen.cores_of_others = cores_of_others(seen);
  seen.memory_bytes = run_.memory().in_use_bytes();
  seen.memory_limit_bytes = run_.memory().limit_bytes();
  seen.ready_bytes = run_.memory().best_effort_bytes();
  const GroupMemory group = group_memory("/sys/fs/cgroup", "/proc/self/cgroup");
  seen.group_bytes = group.in_use_bytes;
  seen.group_limit_bytes = group.limit_bytes;
  fill_stages(now, stages, seen);
  const std::uint64_t taken = taken_.load(std::memory_order_relaxed);
  seen.elements = grown(taken, std::exchange(taken_before_, taken));
  seen.knobs = run_.knobs().states([&](const StageCounters& counters) {
    const auto found = std::find(stages.begin(), stages.end(), &counters);
    return found == stages.end() ? -1 : static_cast<int>(found - stages.begin());
  });
  before_ = std::move(now);
  return seen;
}

void TuningObserver::fill_stages(const PipelineStatistics& now,
                                 const std::vector<const StageCounters*>& counters,
                                 TuningObservation& seen) const {
  for (std::size_t i = 0; i < now.stages.size(); ++i) {
    const StageStatistics& stage = now.stages[i];
    StageObservation& one = seen.stages.emplace_back();
    one.pass_bytes = pass_bytes(stage, *counters[i]);
    one.label = stage.label;
    one.consumer = stage.consumer;
    one.inside = stage.inside;
    one.elements = stage.elements;
    one.buffered_elements = stage.buffered_elements;
    std::uint64_t work_ns = stage.work_ns;
    // Stages never go, but new ones (of inner datasets) may come between.
    const auto before =
        std::find_if(before_.stages.begin(), before_.stages.end(),
                     [&](const StageStatistics& other) { return other.path == stage.path; });
    if (before != before_.stages.end()) {
      one.elements = grown(stage.elements, before->elements);
      work_ns = grown(stage.work_ns, before->work_ns);
    }
    const double on_core =
        stage.cpu_ns && stage.work_ns != 0
            ? static_cast<double>(*stage.cpu_ns) / static_cast<double>(stage.work_ns)
            : 1.0;
    one.cpu_ns = static_cast<std::uint64_t>(static_cast<double>(work_ns) * std::min(1.0, on_core));
    one.blocked_ns = work_ns - std::min(work_ns, one.cpu_ns);
  }
}

double TuningObserver::cores_of_others(const TuningObservation& seen) {
  const std::uint64_t now_ns = machine_busy_ns();
  const std::uint64_t before_ns = std::exchange(machine_before_ns_, now_ns);
  if (before_ns == 0 || seen.window_ns == 0) return 0;
  const std::uint64_t others_ns = grown(grown(now_ns, before_ns), seen.process_cpu_ns);
  const double all = std::max(1U, std::thread::hardware_concurrency());
  return static_cast<double>(others_ns) / static_cast<double>(seen.window_ns) *
         std::min(1.0, seen.cores / all);
}

}  // namespace infeed::detail
