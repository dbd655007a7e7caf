#include <algorithm>
#include <fmt/format.h>
#include <map>
#include <string_view>
#include <utility>

#include "infeed/pipeline/statistics.h"

// Says which thread of a pipeline is the bottleneck, and what its user can do. All of it is a
// function of the figures, so that it can be tested without a clock.
namespace infeed {
namespace {

constexpr std::uint64_t kTooShortNs = 10'000'000;
/// A consumer that waits less than this share of the time can't gain from a faster pipeline.
constexpr double kConsumerBound = 0.05;
/// Threads that are busy for less than this share of the time bound nothing.
constexpr double kBusy = 0.5;
constexpr double kAllCores = 0.9;
/// The consumer's share from which on it pays to let the pipeline run beside it.
constexpr double kWorthOverlapping = 0.3;

double share(std::uint64_t part, std::uint64_t whole) {
  return whole == 0 ? 0 : static_cast<double>(part) / static_cast<double>(whole);
}

std::string percent(double share) { return fmt::format("{:.0f} %", 100 * share); }

constexpr std::string_view kReadSeveralFiles =
    "read several files at once with infeed::interleave and .parallelism";

/// Threads that share one queue of work: one thread that pulls some stages, or the workers of a
/// stage.
struct Lane {
  int owner;     ///< the workers' stage, or the one whose input is pulled; -1: the consumer's lane
  bool workers;  ///< they are a stage's workers
  int threads = 1;
  std::uint64_t work_ns = 0;
  int busiest = -1;  ///< the stage with most of work_ns

  double load(std::uint64_t elapsed_ns) const {
    return share(work_ns, elapsed_ns) / static_cast<double>(threads);
  }
};

/// The owner of a lane, and whether its workers are meant.
using LaneKey = std::pair<int, bool>;

/// Returns the lane that pulls a stage. `pulled_by` has those of all stages before it in the list,
/// so of its consumer.
LaneKey lane_that_pulls(const PipelineStatistics& statistics, const StageStatistics& stage,
                        const std::vector<LaneKey>& pulled_by) {
  if (stage.consumer < 0) return {-1, false};
  const auto above = static_cast<std::size_t>(stage.consumer);
  if (!statistics.stages[above].runs_ahead) return pulled_by.at(above);
  return {stage.consumer, stage.inside == stage.consumer};
}

std::vector<Lane> lanes_of(const PipelineStatistics& statistics) {
  std::vector<Lane> lanes;
  std::map<LaneKey, std::size_t> places;
  std::vector<LaneKey> pulled_by;
  for (const StageStatistics& stage : statistics.stages) {
    const auto i = static_cast<int>(pulled_by.size());
    pulled_by.push_back(lane_that_pulls(statistics, stage, pulled_by));
    const LaneKey key = stage.runs_ahead ? LaneKey{i, true} : pulled_by.back();
    const auto [place, is_new] = places.try_emplace(key, lanes.size());
    if (is_new) {
      Lane& added = lanes.emplace_back(Lane{.owner = key.first, .workers = key.second});
      if (added.workers) {
        const auto& owner = statistics.stages[static_cast<std::size_t>(added.owner)];
        added.threads = std::max(1, owner.parallelism);
      }
    }
    Lane& lane = lanes[place->second];
    lane.work_ns += stage.work_ns;
    if (lane.busiest < 0 ||
        statistics.stages[static_cast<std::size_t>(lane.busiest)].work_ns < stage.work_ns) {
      lane.busiest = i;
    }
  }
  return lanes;
}

std::string name_of(const PipelineStatistics& statistics, const StageStatistics& stage) {
  if (stage.inside < 0) return stage.label;
  return fmt::format("{} (in {})", stage.label,
                     statistics.stages[static_cast<std::size_t>(stage.inside)].label);
}

/// "map[1] 'augment' takes 78 % of the time on one thread".
std::string what_takes(const PipelineStatistics& statistics, const StageStatistics& stage,
                       const Lane& lane) {
  const double of_time = share(stage.work_ns, statistics.elapsed_ns);
  if (lane.threads == 1) {
    return fmt::format("{} takes {} of the time on one thread", name_of(statistics, stage),
                       percent(of_time));
  }
  return fmt::format("{} keeps {} threads busy for {} of the time", name_of(statistics, stage),
                     lane.threads, percent(of_time / lane.threads));
}

bool is_blocked(const StageStatistics& stage) {
  return stage.blocked_ns && 2 * *stage.blocked_ns > stage.work_ns;
}

std::string advice_for_blocked(const PipelineStatistics& statistics, const StageStatistics& stage,
                               const Lane& lane) {
  if (lane.workers && stage.inside >= 0) {
    return fmt::format("raise the .parallelism (now {}) and .cycle_length of {}", lane.threads,
                       statistics.stages[static_cast<std::size_t>(lane.owner)].label);
  }
  if (stage.traits.reads_files) return std::string(kReadSeveralFiles);
  if (stage.traits.has_parallelism) {
    return lane.threads == 1 ? "give it .parallelism = infeed::autotune"
                             : fmt::format("raise its .parallelism (now {})", lane.threads);
  }
  return "put what it waits for into a map with .parallelism";
}

std::string about_blocked(const PipelineStatistics& statistics, const StageStatistics& stage,
                          const Lane& lane) {
  const double of_work = share(*stage.blocked_ns, stage.work_ns);
  const std::string_view for_what =
      !stage.traits.reads_files ? "for storage, a lock, a sleep or a core"
      : stage.parallelism > 1   ? "for storage or the threads that decode for it"
                                : "for storage or a core";
  return fmt::format("{}, {} of which it waits {} (which one can't be told): {}",
                     what_takes(statistics, stage, lane), percent(of_work), for_what,
                     advice_for_blocked(statistics, stage, lane));
}

std::string about_cores(const PipelineStatistics& statistics) {
  const auto cpu = [](const StageStatistics& stage) { return stage.cpu_ns.value_or(0); };
  const auto most = std::max_element(
      statistics.stages.begin(), statistics.stages.end(),
      [&](const StageStatistics& a, const StageStatistics& b) { return cpu(a) < cpu(b); });
  return fmt::format(
      "{}, and {} takes {} of that: make it cheaper, cache() what it gives, or use "
      "more cores",
      statistics.cores == 1 ? "the only core is busy"
                            : fmt::format("all {} cores are busy", statistics.cores),
      name_of(statistics, *most), percent(share(cpu(*most), statistics.process_cpu_ns)));
}

std::string advice_for_computing(const PipelineStatistics& statistics, const StageStatistics& stage,
                                 const Lane& lane) {
  const StageTraits& traits = stage.traits;
  if (lane.threads == 1 && traits.reads_files) {
    return traits.has_parallelism
               ? "give it .parallelism, or read several files at once with infeed::interleave"
               : std::string(kReadSeveralFiles);
  }
  if (lane.threads == 1 && traits.has_parallelism) return "give it .parallelism = infeed::autotune";
  if (lane.threads > 1 && lane.threads < statistics.cores) {
    return fmt::format("raise the .parallelism of {} (now {}, and there are {} cores)",
                       statistics.stages[static_cast<std::size_t>(lane.owner)].label, lane.threads,
                       statistics.cores);
  }
  if (lane.threads == 1 && 10 * stage.work_ns < 9 * lane.work_ns) {
    return "put infeed::prefetch() before and behind it, so that it has a thread of its own";
  }
  return "make it cheaper, or cache() what it gives";
}

std::string about_turns(double consumer_share, double work_share) {
  return fmt::format(
      "the pipeline ({} of the time) and its consumer ({}) take turns in one "
      "thread: end the pipeline with infeed::prefetch(), so that they run side by "
      "side",
      percent(work_share), percent(consumer_share));
}

std::string about_nothing_busy(double load) {
  return fmt::format(
      "no thread of the pipeline is busy for more than {} of the time, and yet its "
      "consumer waits: hand-offs between threads, a memory_bytes_max that leaves "
      "queues no room or a machine that others use can be why; these figures can't "
      "tell",
      percent(load));
}

}  // namespace

std::string PipelineStatistics::verdict() const {
  if (elapsed_ns < kTooShortNs || stages.empty()) {
    return fmt::format("it is too early to tell: {:.1f} ms have gone by",
                       static_cast<double>(elapsed_ns) / 1e6);
  }
  if (stages.front().elements == 0) {
    return "no element has come yet: a call that is under way counts once it returns; "
           "IterateOptions::watchdog says who waits for whom";
  }
  const double wait_share = share(consumer_wait_ns, elapsed_ns);
  if (wait_share < kConsumerBound) {
    return fmt::format(
        "the consumer is slower than the pipeline (it waited {} of the time): there "
        "is nothing to tune here",
        percent(wait_share));
  }
  const std::vector<Lane> lanes = lanes_of(*this);
  const Lane lane = *std::max_element(
      lanes.begin(), lanes.end(),
      [this](const Lane& a, const Lane& b) { return a.load(elapsed_ns) < b.load(elapsed_ns); });
  const double load = lane.load(elapsed_ns);
  const bool overlaps = lane.owner >= 0;
  if (!overlaps && 1 - wait_share >= kWorthOverlapping && 2 * load >= wait_share) {
    return about_turns(1 - wait_share, load);
  }
  const bool uses_all_cores =
      share(process_cpu_ns, elapsed_ns) >= kAllCores * static_cast<double>(cores);
  if (uses_all_cores) return about_cores(*this);
  if (load < kBusy) return about_nothing_busy(load);
  const StageStatistics& stage = stages[static_cast<std::size_t>(lane.busiest)];
  if (is_blocked(stage)) return about_blocked(*this, stage, lane);
  return what_takes(*this, stage, lane) + ": " + advice_for_computing(*this, stage, lane);
}

}  // namespace infeed
