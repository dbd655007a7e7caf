#include <algorithm>
#include <unordered_map>

#include <infeed/pipeline/executor.h>

#include "engine/iterator_counters.h"
#include "engine/statistics/pull_sample.h"
#include "engine/threads/clock.h"

// Turns counters into the figures that users see.
namespace infeed::detail {
namespace {

std::uint64_t load(const std::atomic<std::uint64_t>& value) {
  return value.load(std::memory_order_relaxed);
}

/// Returns the difference, or 0: counters are read one by one while threads count on.
std::uint64_t less(std::uint64_t from, std::uint64_t amount) {
  return from - std::min(from, amount);
}

/// Returns `whole` times a share that was measured on samples.
std::uint64_t scaled(std::uint64_t whole, std::uint64_t part_sampled, std::uint64_t whole_sampled) {
  if (whole_sampled == 0) return 0;
  return static_cast<std::uint64_t>(static_cast<double>(whole) * static_cast<double>(part_sampled) /
                                    static_cast<double>(whole_sampled));
}

void copy_counts(const StageCounters& counters, StageStatistics& stage) {
  stage.elements = load(counters.elements);
  stage.errors = load(counters.errors);
  stage.bytes =
      scaled(stage.elements, load(counters.sampled.bytes), load(counters.sampled.elements));
  stage.pulls = load(counters.pulls);
  stage.total_ns = ns_of_ticks(load(counters.pull_time.ticks));
  stage.wait_ns = ns_of_ticks(load(counters.wait_ticks));
  stage.full_ns = ns_of_ticks(load(counters.full_ticks));
  stage.buffered_elements = load(counters.buffered.elements);
  stage.buffered_bytes = load(counters.buffered.bytes);
  for (const auto& count : counters.own) stage.counts.push_back(load(count));
}

void copy_settings(const StageCounters& counters, StageStatistics& stage) {
  stage.runs_ahead = counters.has_threads;
  stage.parallelism = counters.parallelism.load(std::memory_order_relaxed);
  stage.queue_elements_max = load(counters.queue_max.elements);
  stage.queue_bytes_max = load(counters.queue_max.bytes);
  stage.is_tuned = counters.is_tuned.load(std::memory_order_relaxed);
}

/// The time spent on the stage itself, and the part of it that the CPU clocks saw.
struct Work {
  std::uint64_t ticks = 0;
  std::uint64_t sampled_ticks = 0;
  std::uint64_t sampled_cpu_ns = 0;

  void add(const SpentTime& time) {
    ticks += load(time.ticks);
    sampled_ticks += load(time.sampled_ticks);
    sampled_cpu_ns += load(time.sampled_cpu_ns);
  }
  void add(const Work& other) {
    ticks += other.ticks;
    sampled_ticks += other.sampled_ticks;
    sampled_cpu_ns += other.sampled_cpu_ns;
  }
  Work without(const Work& part) const {
    return {less(ticks, part.ticks), less(sampled_ticks, part.sampled_ticks),
            less(sampled_cpu_ns, part.sampled_cpu_ns)};
  }
};

void set_work(const Work& work, StageStatistics& stage) {
  stage.work_ns = ns_of_ticks(work.ticks);
  const std::uint64_t sampled_ns = ns_of_ticks(work.sampled_ticks);
  if (sampled_ns == 0) return;
  stage.cpu_ns = scaled(stage.work_ns, std::min(work.sampled_cpu_ns, sampled_ns), sampled_ns);
  stage.blocked_ns = stage.work_ns - *stage.cpu_ns;
}

/// Scales CPU times down until all stages together had no more of the cores than the process. On a
/// machine that others use, few samples may miss that the core was taken away.
void limit_cpu(PipelineStatistics& statistics) {
  std::uint64_t sum = 0;
  for (const StageStatistics& stage : statistics.stages) sum += stage.cpu_ns.value_or(0);
  if (sum <= statistics.process_cpu_ns) return;
  for (StageStatistics& stage : statistics.stages) {
    if (!stage.cpu_ns) continue;
    stage.cpu_ns = scaled(*stage.cpu_ns, statistics.process_cpu_ns, sum);
    stage.blocked_ns = stage.work_ns - *stage.cpu_ns;
  }
}

StageStatistics figures_of(const StageCounters& counters, const Work& work) {
  StageStatistics stage;
  stage.name = counters.name;
  stage.given_name = counters.given_name;
  stage.label = counters.label;
  stage.path = counters.path();
  stage.traits = counters.traits;
  stage.depth = counters.depth;
  copy_counts(counters, stage);
  copy_settings(counters, stage);
  set_work(work, stage);
  return stage;
}

}  // namespace

void IteratorCounters::fill_times(PipelineStatistics& result) const {
  result.cores = usable_cores();
  const std::uint64_t begin = load(begin_ticks_);
  if (begin == 0) return;
  const std::uint64_t end = load(end_ticks_);
  const std::uint64_t now = end == 0 ? ticks_now() : end;
  result.elapsed_ns = ns_of_ticks(less(now, begin));
  result.consumer_wait_ns =
      std::min(result.elapsed_ns, ns_of_ticks(consumer_wait_ticks() + load(resume_ticks_)));
  result.process_cpu_ns =
      less(end == 0 ? process_cpu_ns() : load(end_cpu_ns_), load(begin_cpu_ns_));
}

PipelineStatistics IteratorCounters::statistics(std::vector<const StageCounters*>* shown) const {
  PipelineStatistics result;
  std::vector<const StageCounters*> stages;
  add_stages(result, shown == nullptr ? stages : *shown);
  fill_times(result);
  limit_cpu(result);
  return result;
}

void IteratorCounters::add_stages(PipelineStatistics& result,
                                  std::vector<const StageCounters*>& shown) const {
  const std::lock_guard lock(counters_mutex_);
  // Inputs are read before their consumers: what comes to an input meanwhile would be missing from
  // its consumer's own work.
  std::unordered_map<const StageCounters*, Work> inputs_work;
  std::unordered_map<const StageCounters*, Work> own_work;
  for (auto entry = counters_.rbegin(); entry != counters_.rend(); ++entry) {
    const StageCounters& counters = entry->counters;
    Work pulls;
    pulls.add(counters.pull_time);
    Work& own = own_work[&counters];
    if (counters.has_threads) {
      own.add(counters.work_time);
    } else {
      own = pulls.without(inputs_work[&counters]);
    }
    inputs_work[counters.consumer].add(pulls);
  }
  std::unordered_map<const StageCounters*, int> places;
  const auto place_of = [&places](const StageCounters* stage) {
    const auto found = places.find(stage);
    return found == places.end() ? -1 : found->second;
  };
  for (const Entry& entry : counters_) {
    if (!entry.is_open) continue;
    places.emplace(&entry.counters, static_cast<int>(shown.size()));
    shown.push_back(&entry.counters);
    StageStatistics& stage =
        result.stages.emplace_back(figures_of(entry.counters, own_work[&entry.counters]));
    stage.consumer = place_of(entry.counters.consumer);
    stage.inside = place_of(entry.counters.outer);
  }
}

}  // namespace infeed::detail
