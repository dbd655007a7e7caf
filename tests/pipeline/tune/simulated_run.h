#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <infeed/pipeline/tuning_policy.h>

namespace infeed::test {

/// range | map | prefetch as a tuner sees it, with no thread and no clock: each call of window() is
/// 100 ms of a machine that does exactly what the settings allow.
class SimulatedRun {
 public:
  double map_ns = 1e6;
  double source_ns = 100;
  double consumer_ns = 100;
  double cores = 2;
  double cores_of_others = 0;
  /// Cost of an element that is handed from thread to thread.
  double hand_over_ns = 0;
  bool waits = false;
  std::int64_t workers = 2;
  std::int64_t workers_max = 2;
  std::int64_t driver = 1;
  std::int64_t depth = 2;
  std::int64_t depth_low = 0;
  /// Bytes in unbounded buffers and in the rest of the control group.
  std::uint64_t ready_bytes = 0;
  std::uint64_t group_others_bytes = 0;
  std::uint64_t group_limit_bytes = 0;
  std::uint64_t memory_limit_bytes = 0;
  std::shared_ptr<TuningPolicy> tuner = make_tuner();

  std::uint64_t group_bytes() const {
    return group_others_bytes + std::min(ready_bytes, ready_bytes_max);
  }
  double rate() const {
    const double cpu_ns = (waits ? 0 : map_ns) + source_ns + consumer_ns;
    double consumer_lane = consumer_ns;
    double slowest = cpu_ns / (cores - cores_of_others);
    if (workers == 0) {
      if (driver == 0) consumer_lane += map_ns + source_ns;
      slowest = std::max(slowest, driver == 0 ? 0 : map_ns + source_ns);
    } else {
      slowest = std::max({slowest, map_ns / static_cast<double>(workers), source_ns});
    }
    const bool hands_over = workers != 0 || driver != 0;
    return 1e9 / (std::max(slowest, consumer_lane) + (hands_over ? hand_over_ns : 0));
  }

  TuningObservation window() {
    constexpr std::uint64_t kNs = 100'000'000;
    at_ns_ += kNs;
    TuningObservation seen;
    seen.at_ns = at_ns_;
    seen.window_ns = kNs;
    const double elements = rate() * 0.1 + left_;
    seen.elements = static_cast<std::uint64_t>(elements);
    left_ = elements - static_cast<double>(seen.elements);
    const auto spent = [&](double ns) {
      return static_cast<std::uint64_t>(ns * static_cast<double>(seen.elements));
    };
    seen.consumer_wait_ns = kNs - std::min(kNs, spent(consumer_ns));
    seen.cores = cores;
    seen.cores_of_others = cores_of_others;
    seen.memory_limit_bytes = memory_limit_bytes;
    seen.ready_bytes = std::min(ready_bytes, ready_bytes_max);
    seen.group_bytes = group_bytes();
    seen.group_limit_bytes = group_limit_bytes;
    seen.process_cpu_ns = spent((waits ? 0 : map_ns) + source_ns + consumer_ns);
    seen.stages = {
        {"prefetch", -1, -1, seen.elements, 0, 0, 0},
        {"map", 0, -1, seen.elements, 0, waits ? 0 : spent(map_ns), waits ? spent(map_ns) : 0},
        {"range", 1, -1, seen.elements, 0, spent(source_ns), 0}};
    seen.knobs = {{.id = 7,
                   .stage = 1,
                   .shape = KnobShape::behind,
                   .value = workers,
                   .max = workers_max,
                   .waits = waits},
                  {.id = 8, .stage = 0, .shape = KnobShape::driver, .value = driver, .max = 1},
                  {.id = 9,
                   .stage = 0,
                   .kind = KnobKind::depth,
                   .value = depth,
                   .min = 2,
                   .max = 4096,
                   .low = depth_low}};
    return seen;
  }

  void apply(const TuningDecision& decision) {
    for (const KnobSetting& setting : decision.settings) {
      (setting.id == 7 ? workers : setting.id == 8 ? driver : depth) = setting.value;
    }
    ready_bytes_max = decision.ready_bytes_max.value_or(ready_bytes_max);
  }

  /// Returns the tuner's changes in that time. `show` may alter the window that the tuner sees, and
  /// `then` the machine after each of its decisions.
  std::vector<TuningChange> run(
      double seconds, const std::function<void()>& then = [] {},
      const std::function<void(TuningObservation&)>& show = [](TuningObservation&) {}) {
    std::vector<TuningChange> finished;
    for (int i = 0; i < static_cast<int>(10 * seconds); ++i) {
      TuningObservation seen = window();
      show(seen);
      TuningDecision decision = tuner->observe(seen);
      apply(decision);
      then();
      for (TuningChange& change : decision.finished) finished.push_back(std::move(change));
      for (std::string& note : decision.notes) notes.push_back(std::move(note));
      if (!decision.verdict.empty()) verdict = decision.verdict;
      if (!decision.profile.empty()) profile = decision.profile;
    }
    return finished;
  }

  std::uint64_t ready_bytes_max = UINT64_MAX;
  std::vector<std::string> notes;
  std::string verdict;
  std::string profile;

 private:
  std::uint64_t at_ns_ = 0;
  double left_ = 0;
};

}  // namespace infeed::test
