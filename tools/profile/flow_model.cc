#include "profile/flow_model.h"

#include <algorithm>
#include <span>

namespace infeed::tools {
namespace {

// Less is the machine's own housekeeping.
constexpr double kOthersMatter = 0.15;
// With fewer windows the first one is as good as any.
constexpr std::size_t kWindowsForSteady = 3;

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
  measure_steps(length_ns - wait_ns, count);
  for (std::size_t i = 0; i < costs_.stages.size(); ++i) {
    Service& service = costs_.stages[i];
    service.cpu_s /= count;
    service.blocked_s /= count;
    service.elements /= count;
    service.bytes /= count;
    // A prefetch has a thread, but that only pulls.
    service.is_parallel = service.runs_ahead && run_.stages[i].name != "prefetch";
  }
  find_rare_waits(count);
  find_missing_cpu(static_cast<double>(process_cpu_ns) / 1e9 / count);
}

/// Measures how long the step works on an element, and how many it takes. `step_ns`: the time of the
/// windows in which it didn't wait.
void FlowModel::measure_steps(std::uint64_t step_ns, double count) {
  std::uint64_t in_steps = 0;
  std::uint64_t waited_ns = 0;
  for (const RecordedStep& step : run_.detailed_steps()) {
    in_steps += step.elements;
    steps_ns_ += step.length_ns();
    waited_ns += step.infeed_wait_ns;
  }
  costs_.step_s = static_cast<double>(step_ns) / 1e9 / count;
  if (in_steps == 0) return;
  const auto taken = static_cast<double>(in_steps);
  elements_per_step_ =
      taken / static_cast<double>(run_.steps_taken());  // a call of next() takes one
  // In a short run most elements may have been made ahead, and no step has had them.
  if (run_.detail_from_ns == 0 && count > 2 * taken)
    costs_.step_s = static_cast<double>(steps_ns_ - waited_ns) / 1e9 / taken;
}

/// Samples of CPU time miss waits that come once in a thousand calls. Slow calls are known one by
/// one.
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
    const double missing_s = waited_s[i] - service.blocked_s;
    if (missing_s <= 0) continue;
    // Time beyond all that the pulls took was waited for in threads of the stage's own.
    service.cpu_s -= std::min(service.cpu_s, missing_s);
    service.blocked_s += missing_s;
  }
}

/// Time on a core is known from samples only, and few samples may have missed most of it. CPU time
/// of the process that the step can't have had is counted as the stages'.
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
  // By lane + 1: the work of its one thread. All threads of a stage read its inner datasets.
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

double FlowModel::pipeline_steps_per_s(const Costs& costs) const {
  const double seconds = bound(costs, false).seconds;
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

bool FlowModel::is_before(int stage, int consumer) const {
  const auto place = [this](int id) { return order_begin_[static_cast<std::size_t>(id)]; };
  return place(stage) >= place(consumer) &&
         place(stage) < order_end_[static_cast<std::size_t>(consumer)];
}

double FlowModel::gain_of_prefetch() const {
  const double together_s = std::max(bound(costs_, false).seconds, costs_.step_s);
  return together_s <= 0 ? 0 : recorded_.seconds / together_s - 1;
}

}  // namespace infeed::tools
