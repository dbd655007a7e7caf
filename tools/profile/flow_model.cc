#include "profile/flow_model.h"

#include <algorithm>
#include <array>
#include <fmt/format.h>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <utility>

namespace infeed::tools {
namespace {

// A change that brings less is not worth a line.
constexpr double kGainMin = 0.02;

constexpr std::array<std::string_view, 4> kCanHaveThreads{"map", "filter", "parse", "batch_into"};
constexpr std::array<std::string_view, 6> kCacheable{"map",     "parse",      "decode",
                                                     "records", "interleave", "filter"};
// What these take is a hand-over between threads or stages, many elements at a time when they come
// quickly: what it was while they came slowly says nothing of that.
constexpr std::array<std::string_view, 4> kHandOvers{"prefetch", "repeat", "take", "skip"};
// What an element takes out of a cache through a prefetch (measured: 31 to 43 ns for small ones).
constexpr double kCachedElementS = 38e-9;
constexpr double kCachedByteS = 0.085e-9;
// What a call that has to wait costs its caller beside the wait; one gets many elements when they come
// quickly.
constexpr double kPullS = 0.5e-6;
// Where nobody timed steps, so much of the time between two calls may be the machine's.
constexpr double kUnknownShare = 0.01;
// Less is the machine's own housekeeping.
constexpr double kOthersMatter = 0.15;
// With fewer windows the first one is as good as any.
constexpr std::size_t kWindowsForSteady = 3;
// As many as autotune begins with where a function waits.
constexpr int kWaitingThreads = 16;

bool has_any(std::string_view text, std::span<const std::string_view> names) {
  return std::find(names.begin(), names.end(), text) != names.end();
}

/// Of a stage that has none, so that all cores are used, also while some calls wait.
int threads_for(double cpu_s, double blocked_s, double cores) {
  const int all_cores = std::max(1, static_cast<int>(cores + 0.5));
  return blocked_s > cpu_s ? std::max(all_cores, kWaitingThreads) : all_cores;
}

}  // namespace

FlowModel::FlowModel(const RecordedRun& run) : run_(run) {
  learn_order();
  measure();
  recorded_ = bound(costs_, true);
}

double FlowModel::Costs::cores_to_have() const {
  if (cores <= 0) return cores;
  return std::max(std::min(cores, cores_used), cores * cores / (cores + cores_of_others));
}

void FlowModel::measure() {
  costs_.stages.resize(run_.stages.size());
  std::uint64_t elements = 0;
  std::uint64_t length_ns = 0;
  std::uint64_t wait_ns = 0;
  std::uint64_t process_cpu_ns = 0;
  double others_ns = 0;
  // In the first one files are opened and threads begin.
  const std::size_t first = run_.windows.size() >= kWindowsForSteady ? 1 : 0;
  for (const RecordedWindow& window : std::span(run_.windows).subspan(first)) {
    process_cpu_ns += window.process_cpu_ns;
    elements += window.elements;
    length_ns += window.length_ns;
    wait_ns += std::min(window.consumer_wait_ns, window.length_ns);
    if (window.cores > 0) costs_.cores = window.cores;
    others_ns += window.cores_of_others * static_cast<double>(window.length_ns);
    for (const StageWindow& row : window.stages) {
      Service& service = costs_.stages[static_cast<std::size_t>(row.stage)];
      service.cpu_s += static_cast<double>(row.cpu_ns) / 1e9;
      service.blocked_s += static_cast<double>(row.blocked_ns) / 1e9;
      service.elements += static_cast<double>(row.elements);
      service.bytes += static_cast<double>(row.bytes);
      service.parallelism = row.parallelism;
      service.runs_ahead =
          run_.stages[static_cast<std::size_t>(row.stage)].runs_ahead && !row.is_serial;
    }
  }
  if (length_ns > 0) {
    const auto length = static_cast<double>(length_ns);
    costs_.cores_used = static_cast<double>(process_cpu_ns) / length;
    if (others_ns >= kOthersMatter * length) costs_.cores_of_others = others_ns / length;
  }
  if (elements == 0) return;
  const auto count = static_cast<double>(elements);
  seconds_ = static_cast<double>(length_ns) / 1e9 / count;
  costs_.step_s = static_cast<double>(length_ns - wait_ns) / 1e9 / count;
  for (std::size_t i = 0; i < costs_.stages.size(); ++i) {
    Service& service = costs_.stages[i];
    service.cpu_s /= count;
    service.blocked_s /= count;
    service.elements /= count;
    service.bytes /= count;
    // A prefetch has a thread, but what that does is pulling.
    service.is_parallel = service.runs_ahead && run_.stages[i].name != "prefetch";
  }
  find_rare_waits(count);
  find_missing_cpu(static_cast<double>(process_cpu_ns) / 1e9 / count);
  std::uint64_t in_steps = 0;
  for (const RecordedStep& step : run_.steps) {
    in_steps += step.elements;
    steps_ns_ += step.length_ns();
  }
  if (!run_.steps.empty() && in_steps != 0) {
    elements_per_step_ = static_cast<double>(in_steps) / static_cast<double>(run_.steps.size());
  }
}

/// Samples of CPU time pass over what waits once in a thousand calls; slow calls are known one by one.
void FlowModel::find_rare_waits(double count) {
  if (run_.windows.size() < kWindowsForSteady) return;
  const std::uint64_t begin_ns = run_.windows[1].begin_ns;
  std::vector<double> waited_s(costs_.stages.size(), 0);
  for (const SlowCall& call : run_.slow_calls) {
    const std::uint64_t on_core_ns = std::min(call.took_ns, call.cpu_ns + call.preempted_ns);
    if (call.begin_ns < begin_ns) continue;
    waited_s[static_cast<std::size_t>(call.stage)] +=
        static_cast<double>(call.took_ns - on_core_ns) / 1e9 / count;
  }
  for (std::size_t i = 0; i < waited_s.size(); ++i) {
    Service& service = costs_.stages[i];
    const double missing_s = std::min(service.cpu_s, waited_s[i] - service.blocked_s);
    if (missing_s <= 0) continue;
    service.cpu_s -= missing_s;
    service.blocked_s += missing_s;
  }
}

/// What was on a core is known of samples only, and few samples may have seen little of it. What the
/// process had of the cores, and the step can't have had, is the stages'.
void FlowModel::find_missing_cpu(double process_cpu_s) {
  double cpu_s = 0;
  double blocked_s = 0;
  for (const Service& service : costs_.stages) {
    cpu_s += service.cpu_s;
    blocked_s += service.blocked_s;
  }
  const double missing_s = process_cpu_s - costs_.step_s - cpu_s;
  if (missing_s <= 0 || blocked_s <= 0) return;
  const double share = std::min(1.0, missing_s / blocked_s);
  for (Service& service : costs_.stages) {
    service.cpu_s += share * service.blocked_s;
    service.blocked_s -= share * service.blocked_s;
  }
}

void FlowModel::learn_order() {
  const std::size_t count = run_.stages.size();
  is_source_.assign(count, true);
  order_begin_.assign(count, 0);
  order_end_.assign(count, 0);
  std::vector<std::vector<std::size_t>> pulled(count);
  std::vector<std::size_t> open;  // to be visited; a stage that is left is there once more
  for (std::size_t i = count; i-- > 0;) {
    const int consumer = run_.stages[i].consumer;
    if (consumer < 0) {
      open.push_back(i);
      continue;
    }
    is_source_[static_cast<std::size_t>(consumer)] = false;
    pulled[static_cast<std::size_t>(consumer)].push_back(i);
  }
  std::size_t next = 1;
  while (!open.empty()) {
    const std::size_t stage = open.back();
    if (order_begin_[stage] != 0) {
      order_end_[stage] = next;
      open.pop_back();
      continue;
    }
    order_begin_[stage] = next++;
    order_.push_back(static_cast<int>(stage));
    open.insert(open.end(), pulled[stage].begin(), pulled[stage].end());
  }
}

std::vector<int> FlowModel::lanes(const Costs& costs) const {
  std::vector<int> lanes(run_.stages.size(), -1);
  for (const int stage : order_) {
    const auto at = static_cast<std::size_t>(stage);
    if (run_.stages[at].consumer < 0) continue;
    const auto consumer = static_cast<std::size_t>(run_.stages[at].consumer);
    lanes[at] = costs.stages[consumer].runs_ahead ? run_.stages[at].consumer : lanes[consumer];
  }
  return lanes;
}

FlowModel::Bound FlowModel::bound(const Costs& costs, bool with_step) const {
  const std::vector<int> lane_of = lanes(costs);
  // By lane + 1: what its one thread does. Inner datasets are read by all threads of their stage.
  std::vector<double> serial_s(costs.stages.size() + 1, 0);
  std::vector<int> slowest(costs.stages.size() + 1, -1);
  std::vector<double> slowest_s(costs.stages.size() + 1, 0);
  Bound bound;
  const auto take = [&bound](double seconds, int stage) {
    if (seconds > bound.seconds) bound = {seconds, stage};
  };
  double cpu_s = 0;
  int hungriest = -1;
  double hungriest_s = 0;
  for (std::size_t i = 0; i < costs.stages.size(); ++i) {
    const Service& service = costs.stages[i];
    const double all_s = service.cpu_s + service.blocked_s;
    cpu_s += service.cpu_s;
    if (service.cpu_s > hungriest_s) {
      hungriest_s = service.cpu_s;
      hungriest = static_cast<int>(i);
    }
    if (service.is_parallel) {
      take(all_s / service.parallelism, static_cast<int>(i));
      continue;
    }
    const int inside = run_.stages[i].inside;
    const int readers =
        inside < 0 ? 1 : std::max(1, costs.stages[static_cast<std::size_t>(inside)].parallelism);
    const auto lane = static_cast<std::size_t>(lane_of[i] + 1);
    serial_s[lane] += all_s / readers;
    if (all_s / readers > slowest_s[lane]) {
      slowest_s[lane] = all_s / readers;
      slowest[lane] = static_cast<int>(i);
    }
  }
  if (with_step) serial_s[0] += costs.step_s;
  for (std::size_t lane = 0; lane < serial_s.size(); ++lane) {
    const bool is_step = lane == 0 && with_step && costs.step_s >= slowest_s[0];
    take(serial_s[lane], is_step ? -1 : slowest[lane]);
  }
  // The step's own CPU time is not known apart from what an accelerator does: it isn't counted.
  take(cpu_s / std::max(0.1, costs.cores_to_have()), hungriest);
  return bound;
}

int FlowModel::bottleneck() const { return recorded_.stage; }

double FlowModel::pipeline_steps_per_s() const {
  const double seconds = bound(costs_, false).seconds;
  return seconds <= 0 ? 0 : 1 / (seconds * elements_per_step_);
}

double FlowModel::device_steps_per_s() const {
  return costs_.step_s <= 0 ? 0 : 1 / (costs_.step_s * elements_per_step_);
}

double FlowModel::gain(const Costs& changed, std::uint64_t stalls_ns) const {
  const double before_s = recorded_.seconds;
  const double after_s = bound(changed, true).seconds;
  if (before_s <= 0 || after_s <= 0) return 0;
  const auto all = static_cast<double>(steps_ns_);
  const double left = all - static_cast<double>(std::min(stalls_ns, steps_ns_ / 2));
  // The stalls are in the averages, too: where those bound the rate they must not count twice.
  return std::max(before_s / after_s, left > 0 ? all / left : 1) - 1;
}

/// Where most slow reads are of one file.
void FlowModel::add_slow_file(std::vector<WhatIf>& what_ifs,
                              const std::vector<LateStep>& late_steps) const {
  std::map<std::string, std::uint64_t> stalls_ns;
  std::uint64_t all_ns = 0;
  for (const LateStep& late : late_steps) {
    if (late.cause != Cause::slow_read || late.slow_call < 0) continue;
    const auto& place = run_.slow_calls[static_cast<std::size_t>(late.slow_call)].place;
    if (!place) continue;
    stalls_ns[place->file] += late.late_ns;
    all_ns += late.late_ns;
  }
  for (const auto& [file, ns] : stalls_ns) {
    if (2 * ns > all_ns) {
      add(what_ifs, costs_, ns,
          {.kind = ChangeKind::slow_file,
           .change = "the slow file where the others are",
           .how = "copy " + file});
    }
  }
}

void FlowModel::add(std::vector<WhatIf>& what_ifs, const Costs& changed, std::uint64_t stalls_ns,
                    WhatIf what_if) const {
  what_if.predicted_gain = gain(changed, stalls_ns);
  if (what_if.predicted_gain >= kGainMin) what_ifs.push_back(std::move(what_if));
}

/// Whether elements go from `stage` to `consumer`.
bool FlowModel::is_before(int stage, int consumer) const {
  const auto place = [this](int id) { return order_begin_[static_cast<std::size_t>(id)]; };
  return place(stage) >= place(consumer) &&
         place(stage) < order_end_[static_cast<std::size_t>(consumer)];
}

/// The pipeline and the step at the same time, rather than one after the other.
void FlowModel::add_prefetch(std::vector<WhatIf>& what_ifs) const {
  WhatIf what_if{
      .kind = ChangeKind::prefetch, .change = "prefetch at the end", .how = "infeed::prefetch()"};
  for (const RecordedStage& stage : run_.stages) {
    if (stage.consumer >= 0 || stage.inside >= 0) continue;
    if (costs_.stages[static_cast<std::size_t>(stage.id)].runs_ahead) return;
    if (stage.name == "prefetch") what_if.stage = stage.id;  // whose thread rests
  }
  const double together_s = std::max(bound(costs_, false).seconds, costs_.step_s);
  if (together_s <= 0) return;
  what_if.predicted_gain = recorded_.seconds / together_s - 1;
  if (what_if.predicted_gain >= kGainMin) what_ifs.push_back(std::move(what_if));
}

FlowModel::Costs FlowModel::with_cache_behind(int stage) const {
  Costs changed = costs_;
  for (const RecordedStage& other : run_.stages) {
    Service& service = changed.stages[static_cast<std::size_t>(other.id)];
    const bool is_before_it = is_before(other.id, stage);
    if (is_before_it || has_any(other.name, kHandOvers)) service.cpu_s = service.blocked_s = 0;
    if (is_before_it) service.runs_ahead = service.is_parallel = false;
  }
  Service& cached = changed.stages[static_cast<std::size_t>(stage)];
  cached.cpu_s = cached.elements * kCachedElementS + cached.bytes * kCachedByteS;
  const double unknown_s = run_.has_steps ? 0 : kUnknownShare * seconds_;
  changed.step_s = std::max(0.0, changed.step_s - std::max(kPullS, unknown_s));
  return changed;
}

/// `stalls_ns`: of the late steps that the stage or one before it made so.
void FlowModel::add_for_stage(std::vector<WhatIf>& what_ifs, const RecordedStage& stage,
                              std::uint64_t stalls_ns) const {
  const auto at = static_cast<std::size_t>(stage.id);
  const Service& service = costs_.stages[at];
  Costs changed = costs_;
  if (service.is_parallel) {
    changed.stages[at].parallelism *= 2;
    add(what_ifs, changed, 0,
        {.kind = ChangeKind::threads,
         .stage = stage.id,
         .threads = changed.stages[at].parallelism,
         .change = "twice the threads for " + stage.label,
         .how = fmt::format("{{.parallelism = {}}}", changed.stages[at].parallelism)});
  } else if (has_any(stage.name, kCanHaveThreads)) {
    changed.stages[at].runs_ahead = changed.stages[at].is_parallel = true;
    changed.stages[at].parallelism = threads_for(service.cpu_s, service.blocked_s, run_.cores);
    add(what_ifs, changed, 0,
        {.kind = ChangeKind::threads,
         .stage = stage.id,
         .threads = changed.stages[at].parallelism,
         .change = "threads for " + stage.label,
         .how = "{.parallelism = infeed::autotune}"});
  }
  if (!is_source(stage.id)) {
    changed = costs_;
    changed.stages[at].blocked_s /= 2;
    add(what_ifs, changed, 0,
        {.kind = ChangeKind::waits,
         .stage = stage.id,
         .change = "half the time for what " + stage.label + " waits for",
         .how = "faster storage or a server nearby, where its function asks one"});
  }
  // What is random behind a cache stays so only when the cache lies before it.
  if (!has_any(stage.name, kCacheable)) return;
  add(what_ifs, with_cache_behind(stage.id), stalls_ns,
      {.kind = ChangeKind::cache,
       .stage = stage.id,
       .change = "a cache behind " + stage.label,
       .how = "infeed::cache(), from the second epoch on"});
}

std::vector<WhatIf> FlowModel::what_ifs(const std::vector<LateStep>& late_steps) const {
  std::vector<WhatIf> what_ifs;
  if (seconds_ <= 0) return what_ifs;
  // By stage: of the late steps that it or one before it made so.
  std::vector<std::uint64_t> stalls_ns(run_.stages.size(), 0);
  for (const LateStep& late : late_steps) {
    if (late.slow_call >= 0) stalls_ns[static_cast<std::size_t>(late.stage)] += late.late_ns;
  }
  for (auto stage = order_.rbegin(); stage != order_.rend(); ++stage) {
    const auto at = static_cast<std::size_t>(*stage);
    if (run_.stages[at].consumer < 0) continue;
    stalls_ns[static_cast<std::size_t>(run_.stages[at].consumer)] += stalls_ns[at];
  }
  std::uint64_t reads_ns = 0;
  for (const LateStep& late : late_steps) {
    if (late.cause == Cause::slow_read) reads_ns += late.late_ns;
  }
  Costs changed = costs_;
  changed.cores *= 2;
  for (Service& service : changed.stages) service.parallelism *= service.is_parallel ? 2 : 1;
  add(what_ifs, changed, 0,
      {.kind = ChangeKind::cores,
       .change = "twice the cores",
       .how = "a machine or a quota of twice as many"});
  changed = costs_;
  for (std::size_t i = 0; i < changed.stages.size(); ++i) {
    if (is_source(static_cast<int>(i))) changed.stages[i].blocked_s /= 2;
  }
  add(what_ifs, changed, reads_ns / 2,
      {.kind = ChangeKind::storage,
       .change = "storage that is twice as fast",
       .how = "a faster disk, or files nearby"});
  changed = costs_;
  changed.step_s /= 2;
  add(what_ifs, changed, 0,
      {.kind = ChangeKind::slice,
       .change = "a slice that is twice as fast",
       .how = "another --slice; --replay SLICE:MODEL says how long that one would wait"});
  for (const RecordedStage& stage : run_.stages) {
    add_for_stage(what_ifs, stage, stalls_ns[static_cast<std::size_t>(stage.id)]);
  }
  add_slow_file(what_ifs, late_steps);
  add_prefetch(what_ifs);
  std::stable_sort(what_ifs.begin(), what_ifs.end(), [](const WhatIf& a, const WhatIf& b) {
    return a.predicted_gain > b.predicted_gain;
  });
  return what_ifs;
}

}  // namespace infeed::tools
