#include "profile/what_ifs.h"

#include <algorithm>
#include <array>
#include <fmt/format.h>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <utility>

namespace infeed::tools {
namespace {

using Costs = FlowModel::Costs;
using Service = FlowModel::Service;

// A change that brings less is not worth a line.
constexpr double kGainMin = 0.02;
// Gains that differ by less are the same in a table of whole per cents.
constexpr double kSameGain = 0.01;

constexpr std::array<std::string_view, 4> kCanHaveThreads{"map", "filter", "parse", "batch_into"};
constexpr std::array<std::string_view, 6> kCacheable{"map",     "parse",      "decode",
                                                     "records", "interleave", "filter"};
// These stages only hand elements over, many at a time when they come quickly. Their time with slow
// elements says nothing about that.
constexpr std::array<std::string_view, 4> kHandOvers{"prefetch", "repeat", "take", "skip"};
// The time that an element takes out of a cache through a prefetch (measured: 31 to 43 ns for small
// ones).
constexpr double kCachedElementS = 38e-9;
constexpr double kCachedByteS = 0.085e-9;
// The cost, to its caller, of a call that has to wait, beside the wait; one gets many elements when
// they come quickly.
constexpr double kPullS = 0.5e-6;
// Where nobody timed steps, so much of the time between two calls may be the machine's.
constexpr double kUnknownShare = 0.01;
// 10,000 equal stages took 6 s; these take 1.8 s. A pipeline has some tens.
constexpr std::size_t kStagesTriedMax = 2000;
// As many threads as autotune begins with if a function waits.
constexpr int kWaitingThreads = 16;

bool has_any(std::string_view text, std::span<const std::string_view> names) {
  return std::find(names.begin(), names.end(), text) != names.end();
}

/// Returns the threads to try for a stage that has none, so that all cores are used, also while
/// some calls wait.
int threads_for(double cpu_s, double blocked_s, double cores) {
  const int all_cores = std::max(1, static_cast<int>(cores + 0.5));
  return blocked_s > cpu_s ? std::max(all_cores, kWaitingThreads) : all_cores;
}

/// Tries the changes one by one, and lists those that are worth a line.
class WhatIfs {
 public:
  WhatIfs(const RecordedRun& run, const FlowModel& model, const std::vector<LateStep>& late_steps)
      : run_(run), model_(model), costs_(model.costs()), changed_(costs_), late_steps_(late_steps) {
    for (const RecordedStage& stage : run.stages) {
      hands_over_.push_back(has_any(stage.name, kHandOvers));
      if (stage.is_random) random_stages_.push_back(stage.id);
    }
  }

  std::vector<WhatIf> all() {
    if (model_.seconds() <= 0) return {};
    add_surroundings();
    add_stages();
    add_slow_file();
    add_prefetch();
    std::stable_sort(list_.begin(), list_.end(), [](const WhatIf& a, const WhatIf& b) {
      return a.predicted_gain > b.predicted_gain;
    });
    keep_one_of_equal_caches();
    return std::move(list_);
  }

 private:
  /// Keeps the one that holds least, where several caches promise the same.
  void keep_one_of_equal_caches() {
    const auto bytes_of = [&](const WhatIf& what_if) {
      return costs_.stages[static_cast<std::size_t>(what_if.stage)].bytes;
    };
    std::vector<WhatIf> kept;
    for (WhatIf& what_if : list_) {
      const auto same = std::ranges::find_if(kept, [&](const WhatIf& other) {
        return what_if.kind == ChangeKind::cache && other.kind == ChangeKind::cache &&
               other.predicted_gain - what_if.predicted_gain < kSameGain;
      });
      if (same == kept.end()) {
        kept.push_back(std::move(what_if));
      } else if (bytes_of(what_if) < bytes_of(*same)) {
        *same = std::move(what_if);
      }
    }
    list_ = std::move(kept);
  }

  void add(const Costs& changed, std::uint64_t stalls_ns, WhatIf what_if) {
    add(model_.gain(changed, stalls_ns), std::move(what_if));
  }
  void add(double gain, WhatIf what_if) {
    what_if.predicted_gain = gain;
    if (gain >= kGainMin) list_.push_back(std::move(what_if));
  }

  /// Tries more cores, quicker storage and a quicker slice.
  void add_surroundings() {
    std::uint64_t reads_ns = 0;
    for (const LateStep& late : late_steps_) {
      if (late.cause == Cause::slow_read) reads_ns += late.late_ns;
    }
    Costs changed = costs_;
    changed.cores *= 2;
    for (Service& service : changed.stages) service.parallelism *= service.is_parallel ? 2 : 1;
    add(changed, 0,
        {.kind = ChangeKind::cores,
         .change = "twice the cores",
         .how = "a machine or a quota of twice as many"});
    changed = costs_;
    changed.cores_of_others = 0;
    add(changed, 0,
        {.kind = ChangeKind::others,
         .change = "no other processes on the cores",
         .how = fmt::format("they had {:.1f} of {:.3g}: run them elsewhere, or later",
                            costs_.cores_of_others, costs_.cores)});
    changed = costs_;
    for (std::size_t i = 0; i < changed.stages.size(); ++i) {
      if (model_.is_source(static_cast<int>(i))) changed.stages[i].blocked_s /= 2;
    }
    add(changed, reads_ns / 2,
        {.kind = ChangeKind::storage,
         .change = "storage that is twice as fast",
         .how = "a faster disk, or files nearby"});
    if (!run_.has_steps) return;
    changed = costs_;
    changed.step_s /= 2;
    add(changed, 0,
        {.kind = ChangeKind::slice,
         .change = "a step of half the time",
         .how =
             "a quicker accelerator or model; --replay SLICE:MODEL says how long a simulated one "
             "would wait"});
  }

  void add_stages() {
    // By stage: time of late steps that it, or a stage before it, made late.
    std::vector<std::uint64_t> stalls_ns(run_.stages.size(), 0);
    for (const LateStep& late : late_steps_) {
      if (late.slow_call >= 0) stalls_ns[static_cast<std::size_t>(late.stage)] += late.late_ns;
    }
    for (auto stage = model_.order().rbegin(); stage != model_.order().rend(); ++stage) {
      const auto at = static_cast<std::size_t>(*stage);
      if (run_.stages[at].consumer < 0) continue;
      stalls_ns[static_cast<std::size_t>(run_.stages[at].consumer)] += stalls_ns[at];
    }
    for (const RecordedStage& stage : stages_to_change()) {
      add_for_stage(stage, stalls_ns[static_cast<std::size_t>(stage.id)]);
    }
  }

  /// Returns the stages, or those that take most time of very many: each change is weighed against all
  /// stages, and a file may name any number.
  std::vector<RecordedStage> stages_to_change() const {
    std::vector<RecordedStage> stages = run_.stages;
    if (stages.size() <= kStagesTriedMax) return stages;
    const auto seconds_of = [this](const RecordedStage& stage) {
      const Service& service = costs_.stages[static_cast<std::size_t>(stage.id)];
      return service.cpu_s + service.blocked_s;
    };
    std::ranges::stable_sort(stages, std::greater(), seconds_of);
    stages.erase(stages.begin() + kStagesTriedMax, stages.end());
    return stages;
  }

  /// `stalls_ns`: time of late steps that the stage, or a stage before it, made late.
  void add_for_stage(const RecordedStage& stage, std::uint64_t stalls_ns) {
    const auto at = static_cast<std::size_t>(stage.id);
    const Service& service = costs_.stages[at];
    Service& changed = changed_.stages[at];
    if (service.is_parallel) {
      changed.parallelism *= 2;
      add(changed_, 0,
          {.kind = ChangeKind::threads,
           .stage = stage.id,
           .threads = changed.parallelism,
           .change = "twice the threads for " + stage.label,
           .how = fmt::format("{{.parallelism = {}}}", changed.parallelism)});
    } else if (has_any(stage.name, kCanHaveThreads)) {
      changed.runs_ahead = changed.is_parallel = true;
      changed.parallelism = threads_for(service.cpu_s, service.blocked_s, run_.cores);
      add(changed_, 0,
          {.kind = ChangeKind::threads,
           .stage = stage.id,
           .threads = changed.parallelism,
           .change = "threads for " + stage.label,
           .how = "{.parallelism = infeed::autotune}"});
    }
    changed = service;
    // Half of a wait that is short gains nothing, and trying it looks at all other stages.
    const bool waits = service.blocked_s > kGainMin / 2 * model_.seconds();
    if (waits && !model_.is_source(stage.id)) {
      changed.blocked_s /= 2;
      add(changed_, 0,
          {.kind = ChangeKind::waits,
           .stage = stage.id,
           .change = "half the time for what " + stage.label + " waits for",
           .how = "faster storage or a server nearby, where its function asks one"});
      changed = service;
    }
    if (!has_any(stage.name, kCacheable) || is_random_up_to(stage.id)) return;
    add(with_cache_behind(stage.id), stalls_ns,
        {.kind = ChangeKind::cache,
         .stage = stage.id,
         .change = "a cache behind " + stage.label,
         .how = "infeed::cache(), from the second epoch on"});
  }

  /// Returns true if the stage or one before it draws numbers: behind a cache each pass would have
  /// those of the first.
  bool is_random_up_to(int stage) const {
    return std::any_of(random_stages_.begin(), random_stages_.end(),
                       [&](int other) { return model_.is_before(other, stage); });
  }

  const Costs& with_cache_behind(int stage) {
    Costs& changed = cached_;
    changed = costs_;  // into memory that is there
    for (const RecordedStage& other : run_.stages) {
      Service& service = changed.stages[static_cast<std::size_t>(other.id)];
      const bool is_before_it = model_.is_before(other.id, stage);
      if (is_before_it || hands_over_[static_cast<std::size_t>(other.id)])
        service.cpu_s = service.blocked_s = 0;
      if (is_before_it) service.runs_ahead = service.is_parallel = false;
    }
    Service& cached = changed.stages[static_cast<std::size_t>(stage)];
    cached.cpu_s = cached.elements * kCachedElementS + cached.bytes * kCachedByteS;
    const double unknown_s = run_.has_steps ? 0 : kUnknownShare * model_.seconds();
    changed.step_s = std::max(0.0, changed.step_s - std::max(kPullS, unknown_s));
    return changed;
  }

  /// Tries to move a file from which most slow reads came.
  void add_slow_file() {
    std::map<std::string, std::uint64_t> stalls_ns;
    std::uint64_t all_ns = 0;
    for (const LateStep& late : late_steps_) {
      if (late.cause != Cause::slow_read || late.slow_call < 0) continue;
      const auto& place = run_.slow_calls[static_cast<std::size_t>(late.slow_call)].place;
      if (!place) continue;
      stalls_ns[place->file] += late.late_ns;
      all_ns += late.late_ns;
    }
    for (const auto& [file, ns] : stalls_ns) {
      if (2 * ns > all_ns) {
        add(costs_, ns,
            {.kind = ChangeKind::slow_file,
             .change = "the slow file where the others are",
             .how = "copy " + file});
      }
    }
  }

  /// Tries to run the pipeline and the step at the same time, rather than one after the other.
  void add_prefetch() {
    WhatIf what_if{
        .kind = ChangeKind::prefetch, .change = "prefetch at the end", .how = "infeed::prefetch()"};
    for (const RecordedStage& stage : run_.stages) {
      if (stage.consumer >= 0 || stage.inside >= 0) continue;
      if (costs_.stages[static_cast<std::size_t>(stage.id)].runs_ahead) return;
      if (stage.name == "prefetch") what_if.stage = stage.id;  // its thread rests
    }
    add(model_.gain_of_prefetch(), std::move(what_if));
  }

  const RecordedRun& run_;
  const FlowModel& model_;
  const Costs& costs_;  ///< as recorded
  Costs changed_;       ///< the same between two changes of a single stage
  Costs cached_;        ///< with_cache_behind()
  const std::vector<LateStep>& late_steps_;
  std::vector<bool> hands_over_;  ///< by stage
  std::vector<int> random_stages_;
  std::vector<WhatIf> list_;
};

}  // namespace

std::vector<WhatIf> what_ifs(const RecordedRun& run, const FlowModel& model,
                             const std::vector<LateStep>& late_steps) {
  return WhatIfs(run, model, late_steps).all();
}

}  // namespace infeed::tools
