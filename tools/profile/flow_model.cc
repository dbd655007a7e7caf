#include "profile/flow_model.h"

#include <algorithm>
#include <fmt/format.h>
#include <map>
#include <string>
#include <string_view>
#include <utility>

namespace infeed::tools {
namespace {

// A change that brings less is not worth a line.
constexpr double kGainMin = 0.02;

bool has_any(std::string_view text, std::initializer_list<std::string_view> names) {
  return std::any_of(names.begin(), names.end(),
                     [text](std::string_view name) { return text == name; });
}

}  // namespace

FlowModel::FlowModel(const RecordedRun& run) : run_(run) {
  learn_order();
  measure();
}

void FlowModel::measure() {
  costs_.stages.resize(run_.stages.size());
  std::uint64_t elements = 0;
  std::uint64_t length_ns = 0;
  std::uint64_t wait_ns = 0;
  for (const RecordedWindow& window : run_.windows) {
    elements += window.elements;
    length_ns += window.length_ns;
    wait_ns += std::min(window.consumer_wait_ns, window.length_ns);
    if (window.cores > 0) costs_.cores = window.cores;
    for (const StageWindow& row : window.stages) {
      Service& service = costs_.stages[static_cast<std::size_t>(row.stage)];
      service.cpu_s += static_cast<double>(row.cpu_ns) / 1e9;
      service.blocked_s += static_cast<double>(row.blocked_ns) / 1e9;
      service.parallelism = row.parallelism;
    }
  }
  if (elements == 0) return;
  const auto count = static_cast<double>(elements);
  seconds_ = static_cast<double>(length_ns) / 1e9 / count;
  costs_.step_s = static_cast<double>(length_ns - wait_ns) / 1e9 / count;
  for (std::size_t i = 0; i < costs_.stages.size(); ++i) {
    Service& service = costs_.stages[i];
    service.cpu_s /= count;
    service.blocked_s /= count;
    // A prefetch has a thread, but what that does is pulling.
    service.is_parallel = run_.stages[i].runs_ahead && run_.stages[i].name != "prefetch";
  }
  std::uint64_t in_steps = 0;
  for (const RecordedStep& step : run_.steps) {
    in_steps += step.elements;
    steps_ns_ += step.length_ns();
  }
  if (!run_.steps.empty() && in_steps != 0) {
    elements_per_step_ = static_cast<double>(in_steps) / static_cast<double>(run_.steps.size());
  }
}

void FlowModel::learn_order() {
  const std::size_t count = run_.stages.size();
  is_source_.assign(count, true);
  lanes_.assign(count, -1);
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
    for (const std::size_t other : pulled[stage]) {
      lanes_[other] = run_.stages[stage].runs_ahead ? static_cast<int>(stage) : lanes_[stage];
      open.push_back(other);
    }
  }
}

FlowModel::Bound FlowModel::bound(const Costs& costs, bool with_step) const {
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
    const auto lane = static_cast<std::size_t>(lanes_[i] + 1);
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
  take(cpu_s / std::max(0.1, costs.cores), hungriest);
  return bound;
}

int FlowModel::bottleneck() const { return bound(costs_, true).stage; }

int FlowModel::busiest_stage(std::span<const RecordedWindow> windows) const {
  std::vector<double> busy_s(run_.stages.size(), 0);
  for (const RecordedWindow& window : windows) {
    for (const StageWindow& row : window.stages) {
      const auto stage = static_cast<std::size_t>(row.stage);
      busy_s[stage] += static_cast<double>(row.cpu_ns + row.blocked_ns) / row.parallelism;
    }
  }
  const auto most = std::max_element(busy_s.begin(), busy_s.end());
  return most == busy_s.end() || *most == 0 ? -1 : static_cast<int>(most - busy_s.begin());
}

double FlowModel::pipeline_steps_per_s() const {
  const double seconds = bound(costs_, false).seconds;
  return seconds <= 0 ? 0 : 1 / (seconds * elements_per_step_);
}

double FlowModel::device_steps_per_s() const {
  return costs_.step_s <= 0 ? 0 : 1 / (costs_.step_s * elements_per_step_);
}

double FlowModel::gain(const Costs& changed, std::uint64_t stalls_ns) const {
  const double before_s = bound(costs_, true).seconds;
  const double after_s = bound(changed, true).seconds;
  if (before_s <= 0 || after_s <= 0) return 0;
  const auto all = static_cast<double>(steps_ns_);
  const double left = all - static_cast<double>(std::min(stalls_ns, steps_ns_ / 2));
  return before_s / after_s * (left > 0 ? all / left : 1) - 1;
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
      add(what_ifs, costs_, ns, "the slow file where the others are", "copy " + file);
    }
  }
}

void FlowModel::add(std::vector<WhatIf>& what_ifs, const Costs& changed, std::uint64_t stalls_ns,
                    std::string change, std::string how) const {
  const double gained = gain(changed, stalls_ns);
  if (gained < kGainMin) return;
  what_ifs.push_back(
      {.change = std::move(change), .how = std::move(how), .predicted_gain = gained});
}

/// Whether elements go from `stage` to `consumer`.
bool FlowModel::is_before(int stage, int consumer) const {
  const auto place = [this](int id) { return order_begin_[static_cast<std::size_t>(id)]; };
  return place(stage) >= place(consumer) &&
         place(stage) < order_end_[static_cast<std::size_t>(consumer)];
}

std::vector<WhatIf> FlowModel::what_ifs(const std::vector<LateStep>& late_steps) const {
  std::vector<WhatIf> what_ifs;
  if (seconds_ <= 0) return what_ifs;
  std::vector<std::uint64_t> stalls_ns(run_.stages.size(), 0);
  for (const LateStep& late : late_steps) {
    if (late.slow_call >= 0) stalls_ns[static_cast<std::size_t>(late.stage)] += late.late_ns;
  }
  std::uint64_t reads_ns = 0;
  for (const LateStep& late : late_steps) {
    if (late.cause == Cause::slow_read) reads_ns += late.late_ns;
  }
  Costs changed = costs_;
  changed.cores *= 2;
  for (Service& service : changed.stages) service.parallelism *= service.is_parallel ? 2 : 1;
  add(what_ifs, changed, 0, "twice the cores", "a machine or a quota of twice as many");
  changed = costs_;
  for (std::size_t i = 0; i < changed.stages.size(); ++i) {
    if (is_source(static_cast<int>(i))) changed.stages[i].blocked_s /= 2;
  }
  add(what_ifs, changed, reads_ns / 2, "storage that is twice as fast",
      "a faster disk, or files nearby");
  changed = costs_;
  changed.step_s /= 2;
  add(what_ifs, changed, 0, "a slice that is twice as fast",
      "another --slice; --replay SLICE:MODEL says how long that one would wait");
  for (const RecordedStage& stage : run_.stages) {
    const auto at = static_cast<std::size_t>(stage.id);
    const Service& service = costs_.stages[at];
    if (has_any(stage.name, {"map", "filter", "parse", "batch_into"}) && !service.is_parallel) {
      changed = costs_;
      changed.stages[at].is_parallel = true;
      changed.stages[at].parallelism = std::max(1, static_cast<int>(costs_.cores + 0.5));
      add(what_ifs, changed, 0, "threads for " + stage.label, "{.parallelism = infeed::autotune}");
    }
    // What is random behind a cache stays so only when the cache lies before it.
    if (has_any(stage.name, {"map", "parse", "decode", "records", "interleave", "filter"})) {
      changed = costs_;
      std::uint64_t stalls_before_ns = 0;
      for (const RecordedStage& other : run_.stages) {
        if (!is_before(other.id, stage.id)) continue;
        stalls_before_ns += stalls_ns[static_cast<std::size_t>(other.id)];
        changed.stages[static_cast<std::size_t>(other.id)].cpu_s = 0;
        changed.stages[static_cast<std::size_t>(other.id)].blocked_s = 0;
      }
      add(what_ifs, changed, stalls_before_ns, "a cache behind " + stage.label,
          "infeed::cache(), from the second epoch on");
    }
  }
  add_slow_file(what_ifs, late_steps);
  const bool has_prefetch = std::any_of(
      run_.stages.begin(), run_.stages.end(),
      [](const RecordedStage& stage) { return stage.consumer < 0 && stage.runs_ahead; });
  if (!has_prefetch) {
    changed = costs_;
    const double pipeline_s = bound(costs_, false).seconds;
    const double together_s = std::max(pipeline_s, costs_.step_s);
    const double before_s = bound(costs_, true).seconds;
    if (together_s > 0 && before_s / together_s - 1 >= kGainMin) {
      what_ifs.push_back({.change = "prefetch at the end",
                          .how = "infeed::prefetch()",
                          .predicted_gain = before_s / together_s - 1});
    }
  }
  std::stable_sort(what_ifs.begin(), what_ifs.end(), [](const WhatIf& a, const WhatIf& b) {
    return a.predicted_gain > b.predicted_gain;
  });
  return what_ifs;
}

}  // namespace infeed::tools
