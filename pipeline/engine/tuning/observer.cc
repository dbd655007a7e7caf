#include "engine/tuning/observer.h"

#include <unordered_map>
#include <utility>

#include "engine/iterator_context.h"
#include "engine/threads/clock.h"
#include "engine/tuning/group_memory.h"

namespace infeed::detail {
namespace {

/// Returns the bytes of one pass. The pass under way counts as half of one.
std::uint64_t pass_bytes(const StageStatistics& total, const StageCounters& counters) {
  const std::uint64_t passes = counters.passes.load(std::memory_order_relaxed);
  if (passes < 2 || counters.passes_may_differ || counters.outer != nullptr) return 0;
  return static_cast<std::uint64_t>(static_cast<double>(total.bytes) /
                                    (static_cast<double>(passes) - 0.5));
}

StageObservation observation_of(const Window::Stage& stage, const StageStatistics& total) {
  const StageStatistics& figures = stage.figures;
  return {.label = figures.label,
          .consumer = figures.consumer,
          .inside = figures.inside,
          .elements = figures.elements,
          .buffered_elements = figures.buffered_elements,
          .cpu_ns = figures.cpu_ns.value_or(0),
          .blocked_ns = figures.blocked_ns.value_or(0),
          .pass_bytes = pass_bytes(total, *stage.counters)};
}

}  // namespace

TuningObservation TuningObserver::look() {
  const Window window = windows_.look(ns_of_ticks(ticks_now()));
  const PipelineStatistics& totals = windows_.statistics();
  TuningObservation seen;
  seen.at_ns = totals.elapsed_ns;
  seen.window_ns = window.elapsed_ns;
  seen.consumer_wait_ns = window.consumer_wait_ns;
  seen.process_cpu_ns = window.process_cpu_ns;
  seen.cores = window.cores;
  seen.cores_of_others = window.cores_of_others;
  seen.memory_bytes = window.memory_bytes;
  seen.memory_limit_bytes = window.memory_limit_bytes;
  seen.ready_bytes = run_.memory().best_effort_bytes();
  const GroupMemory group = group_memory("/sys/fs/cgroup", "/proc/self/cgroup");
  seen.group_bytes = group.in_use_bytes;
  seen.group_limit_bytes = group.limit_bytes;
  for (std::size_t i = 0; i < window.stages.size(); ++i) {
    seen.stages.push_back(observation_of(window.stages[i], totals.stages[i]));
  }
  const std::uint64_t taken = taken_.load(std::memory_order_relaxed);
  seen.elements = taken - std::exchange(taken_before_, taken);
  std::unordered_map<const StageCounters*, int> places;
  for (const StageCounters* const stage : windows_.stages()) {
    places.emplace(stage, static_cast<int>(places.size()));
  }
  seen.knobs = run_.knobs().states([&places](const StageCounters& counters) {
    const auto found = places.find(&counters);
    return found == places.end() ? -1 : found->second;
  });
  return seen;
}

}  // namespace infeed::detail
