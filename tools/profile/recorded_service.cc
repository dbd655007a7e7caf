#include "profile/recorded_service.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <limits>
#include <optional>
#include <string_view>

#include <infeed/error.h>

#include "cli/limits.h"
#include "profile/unusual_calls.h"
#include "profile/work_parts.h"

namespace infeed::tools {
namespace {

/// A step has waited for its input if the wait exceeds this time and this share of the step. Taking
/// a ready batch may take a wake-up through the kernel, too, which is not the pipeline's work.
constexpr double kWaitMinNs = 20'000;
constexpr double kWaitMinShare = 0.1;
/// Steps that lie further apart don't follow each other: the file lacks the time between them.
constexpr std::uint64_t kGapMaxNs = 1'000'000;
/// A pipeline that counts as running ahead may do this share of an element's work in the training
/// step's own thread.
constexpr double kOwnWorkMax = 0.2;
/// Longer batches, which a recording may claim, are refused by name instead of overflowing.
constexpr double kBatchPsMax = 4e18;
/// The most windows that are looked at to find one that has a stage.
constexpr int kWindowsLookedAt = 16;
/// The least part of the average that is left for a batch beside slow ones.
constexpr double kLeftMin = 0.25;

int last_stage(const RecordedRun& run) {
  for (const RecordedStage& stage : run.stages) {
    if (stage.consumer < 0 && stage.inside < 0) return stage.id;
  }
  return -1;
}

/// The stage next to the training step that works ahead of it; -1: none.
int stage_ahead(const RecordedRun& run) {
  for (int stage = last_stage(run); stage >= 0;) {
    if (run.stages[static_cast<std::size_t>(stage)].runs_ahead) return stage;
    const auto next = std::ranges::find_if(run.stages, [stage](const RecordedStage& other) {
      return other.consumer == stage && other.inside < 0;
    });
    stage = next == run.stages.end() ? -1 : next->id;
  }
  return -1;
}

/// Returns what each stage handed over and did.
std::vector<StageWindow> handed_over(const RecordedRun& run) {
  std::vector<StageWindow> sums(run.stages.size());
  for (const RecordedWindow& window : run.windows) {
    for (const StageWindow& row : window.stages) {
      StageWindow& sum = sums[static_cast<std::size_t>(row.stage)];
      sum.elements += row.elements;
      sum.bytes += row.bytes;
      sum.cpu_ns += row.cpu_ns;
      sum.blocked_ns += row.blocked_ns;
      sum.buffered_elements = std::max(sum.buffered_elements, row.buffered_elements);
      sum.queue_elements_max = std::max(sum.queue_elements_max, row.queue_elements_max);
    }
  }
  return sums;
}

StageWindow of_stage(const std::vector<StageWindow>& sums, int stage) {
  return stage < 0 ? StageWindow() : sums[static_cast<std::size_t>(stage)];
}

/// Returns how many elements a stage that runs ahead holds at most.
std::uint64_t held_by(const StageWindow& queue) {
  return std::max(queue.queue_elements_max, queue.buffered_elements);
}

bool makes_batches(std::string_view name) {
  return name.find("batch") != name.npos
             ? name != "unbatch" && name != "rebatch"
             : name == "parse_columns" || name == "bucket_by_sequence_length";
}

/// Examples of an element of the pipeline's end; 0: not known.
double examples_of_element(const RecordedRun& run, const std::vector<StageWindow>& handed) {
  for (const RecordedStage& stage : run.stages) {
    if (stage.inside >= 0 || !makes_batches(stage.name)) continue;
    const auto before = std::ranges::find(run.stages, stage.id, &RecordedStage::consumer);
    const auto batches = static_cast<double>(of_stage(handed, stage.id).elements);
    if (before == run.stages.end() || batches == 0) return 0;
    return static_cast<double>(of_stage(handed, before->id).elements) / batches;
  }
  return 0;
}

/// The time that a step's input took.
struct StepInput {
  double average_ns = 0;  ///< by the stages' work around it
  double took_ns = 0;     ///< as it was seen; 0: nothing was seen
  bool is_least = false;  ///< it may have taken longer: batches made ahead hid the rest
};

class ServiceReading {
 public:
  ServiceReading(const RecordedRun& run, const std::vector<StageWindow>& handed)
      : run_(run), ahead_(stage_ahead(run)), parts_(parts_of(run, ahead_)), unusual_calls_(run) {
    const double own_ns = own_work_ns(handed);
    double all_ns = 0;
    for (const WorkPart& part : parts_) all_ns += part.element_ns;
    const double average_ns = parts_.empty() ? 0 : all_ns / static_cast<double>(parts_.size());
    runs_ahead_ = ahead_ >= 0 && (average_ns == 0 || own_ns <= kOwnWorkMax * average_ns);
    if (!runs_ahead_) return;
    own_ns_ = own_ns;
    const StageWindow queue = of_stage(handed, ahead_);
    const auto elements = static_cast<double>(of_stage(handed, last_stage(run)).elements);
    if (queue.elements == 0 || held_by(queue) == 0) return;
    queue_elements_ =
        static_cast<double>(held_by(queue)) * elements / static_cast<double>(queue.elements);
  }

  bool runs_ahead() const { return runs_ahead_; }
  /// The stage that does; -1: none. What is behind it does most of the work if runs_ahead() is
  /// false.
  int ahead() const { return ahead_; }

  std::vector<StepInput> units() {
    std::vector<StepInput> units;
    part_of_.clear();
    for (std::size_t i = 0; i < run_.steps.size(); ++i) {
      const RecordedStep& step = run_.steps[i];
      const std::size_t part = part_at(step.begin_ns);
      const double element_ns = parts_.empty() ? 0 : parts_[part].element_ns;
      StepInput unit = seen(i, part);
      unit.average_ns = element_ns * static_cast<double>(step.elements);
      if (unit.is_least) unit.took_ns = std::max(unit.took_ns, unit.average_ns);
      units.push_back(unit);
      part_of_.push_back(part);
    }
    add_slow_calls(units);
    return units;
  }

  /// The average of each part holds with the slow ones in it.
  void spread(std::vector<StepInput>& units) const {
    for (std::size_t first = 0; first < units.size();) {
      std::size_t end = first;
      double beyond_ns = 0;
      double others_ns = 0;
      for (; end < units.size() && part_of_[end] == part_of_[first]; ++end) {
        const StepInput& unit = units[end];
        if (unit.took_ns > 0) {
          beyond_ns += unit.took_ns - unit.average_ns;
        } else {
          others_ns += unit.average_ns;
        }
      }
      const double left =
          others_ns > 0 ? std::clamp(1 - beyond_ns / others_ns, kLeftMin, 1.0) : 1.0;
      for (; first < end; ++first) {
        if (units[first].took_ns <= 0) units[first].took_ns = left * units[first].average_ns;
      }
    }
  }

 private:
  /// Returns the time for an element of the stages behind the one that runs ahead: the step's own
  /// thread works for so long.
  double own_work_ns(const std::vector<StageWindow>& handed) const {
    double own_ns = 0;
    for (int stage = last_stage(run_); stage >= 0 && stage != ahead_;) {
      const StageWindow work = of_stage(handed, stage);
      own_ns += static_cast<double>(work.cpu_ns + work.blocked_ns);
      const auto next = std::ranges::find(run_.stages, stage, &RecordedStage::consumer);
      stage = next == run_.stages.end() ? -1 : next->id;
    }
    const auto elements = static_cast<double>(of_stage(handed, last_stage(run_)).elements);
    return elements == 0 ? 0 : own_ns / elements;
  }

  std::size_t part_at(std::uint64_t ns) const {
    const auto found = std::ranges::upper_bound(parts_, ns, {}, &WorkPart::end_ns);
    const auto at = static_cast<std::size_t>(found - parts_.begin());
    return parts_.empty() ? 0 : std::min(at, parts_.size() - 1);
  }

  bool has_waited(const RecordedStep& step) const {
    const auto elements = static_cast<double>(std::max<std::uint64_t>(1, step.elements));
    const double wait_ns = static_cast<double>(step.infeed_wait_ns) - own_ns_ * elements;
    return wait_ns > kWaitMinNs * elements &&
           wait_ns > kWaitMinShare * static_cast<double>(step.length_ns());
  }
  static std::uint64_t ready_ns(const RecordedStep& step) {
    return step.begin_ns + step.infeed_wait_ns;
  }

  /// Returns what step i shows of the time that its input took.
  StepInput seen(std::size_t i, std::size_t part) const {
    const RecordedStep& step = run_.steps[i];
    if (!has_waited(step)) return {};
    if (!runs_ahead_) return {.took_ns = static_cast<double>(step.infeed_wait_ns)};
    if (i == 0 || step.begin_ns > run_.steps[i - 1].end_ns() + kGapMaxNs) return {};
    const RecordedStep& before = run_.steps[i - 1];
    // The pipeline began with this input when the one before was ready, which may be long before its
    // step began, unless the step waited for it.
    const auto took_ns =
        static_cast<double>(ready_ns(step) - std::min(ready_ns(before), ready_ns(step)));
    // A pipeline whose queue holds less than a step takes rests until the step asks.
    const bool may_rest = run_.has_steps && static_cast<double>(step.elements) > queue_elements_;
    return {.took_ns = may_rest ? took_ns * (1 - parts_[part].full_share) : took_ns,
            .is_least = !has_waited(before)};
  }

  /// Adds slow calls, of which the steps saw only what batches made ahead didn't hide.
  void add_slow_calls(std::vector<StepInput>& units) const {
    std::vector<double> slow_ns(units.size(), 0);
    for (const SlowCall& call : run_.slow_calls) {
      if (!unusual_calls_.is_unusual(call)) continue;  // the average has it
      const std::optional<std::size_t> step = step_of(call);
      if (!step) continue;
      slow_ns[*step] += static_cast<double>(call.took_ns) / parallelism(call.stage, call.begin_ns);
    }
    for (std::size_t i = 0; i < units.size(); ++i) {
      StepInput& unit = units[i];
      if (slow_ns[i] == 0 || (unit.took_ns > 0 && !unit.is_least)) continue;
      unit.took_ns = std::max(unit.took_ns, unit.average_ns + slow_ns[i]);
    }
  }

  /// Returns the step whose input the call held up: the one that waited until the call had ended. If
  /// nobody waited, the one during which it began.
  std::optional<std::size_t> step_of(const SlowCall& call) const {
    const auto begun_by = [this](std::uint64_t ns) {
      const auto after = std::ranges::upper_bound(run_.steps, ns, {}, &RecordedStep::begin_ns);
      return static_cast<std::size_t>(after - run_.steps.begin());
    };
    const std::size_t begun = begun_by(call.end_ns());
    const std::size_t first = begun == 0 ? 0 : begun - 1;
    for (std::size_t i = first; i < std::min(begun + 1, run_.steps.size()); ++i) {
      const RecordedStep& step = run_.steps[i];
      if (ready_ns(step) >= call.end_ns() && has_waited(step)) return i;
    }
    const std::size_t at_begin = begun_by(call.begin_ns);
    return at_begin == 0 ? std::nullopt : std::optional(at_begin - 1);
  }

  double parallelism(int stage, std::uint64_t ns) const {
    auto window = std::ranges::partition_point(
        run_.windows, [ns](const auto& one) { return one.begin_ns + one.length_ns <= ns; });
    // A stage that did nothing may be left out of some.
    for (int i = 0; i < kWindowsLookedAt && window != run_.windows.end(); ++i, ++window) {
      const auto row = std::ranges::find(window->stages, stage, &StageWindow::stage);
      if (row != window->stages.end()) return std::max(1, row->parallelism);
    }
    return 1;
  }

  const RecordedRun& run_;
  const int ahead_;
  const std::vector<WorkPart> parts_;
  const UnusualCalls unusual_calls_;
  bool runs_ahead_ = false;
  double own_ns_ = 0;  ///< work of the step's own thread for an element
  /// Elements of the pipeline's end that are made ahead at most.
  double queue_elements_ = std::numeric_limits<double>::infinity();
  std::vector<std::size_t> part_of_;  ///< by step
};

}  // namespace

RecordedService recorded_service(const RecordedRun& run) {
  if (run.steps.empty()) {
    throw Error(ErrorCode::failed_precondition,
                "there is no step in the recording, so that nothing can be replayed; record a run "
                "that lasts longer")
        .at_file(run.path);
  }
  if (run.detailed_steps().size() < run.steps.size()) {  // older late ones are no fair sample
    RecordedRun detailed = run;
    detailed.steps.assign(run.detailed_steps().begin(), run.detailed_steps().end());
    return recorded_service(detailed);
  }
  const std::vector<StageWindow> handed = handed_over(run);
  ServiceReading reading(run, handed);
  std::vector<StepInput> units = reading.units();
  // Work that is done only when it is asked for is seen whole, but not work that runs ahead further
  // up: that would have to keep up with a device that doesn't wait.
  if (!reading.runs_ahead()) {
    for (StepInput& unit : units) unit.took_ns = std::max(unit.took_ns, unit.average_ns);
  } else {
    reading.spread(units);
  }
  RecordedService service;
  std::vector<double> own_ns;
  std::vector<double> elements;
  for (std::size_t i = 0; i < units.size(); ++i) {
    const RecordedStep& step = run.steps[i];
    // Calls of next() that were put together are steps each; a step of a loop is one, whatever it
    // takes.
    const auto count = static_cast<double>(std::max<std::uint64_t>(1, step.elements));
    const double steps = run.has_steps ? 1 : count;
    if (steps > static_cast<double>(limits::replayed_batches - service.ps.size())) {
      throw Error(
          ErrorCode::failed_precondition,
          fmt::format("the recording has more than {} batches, which is the limit of what is "
                      "replayed; record a shorter run",
                      limits::replayed_batches))
          .at_file(run.path);
    }
    own_ns.push_back(static_cast<double>(step.compute_ns + step.all_reduce_ns) / steps);
    elements.push_back(run.has_steps ? count : 1);
    for (int j = 0; j < static_cast<int>(steps); ++j) {
      service.ps.push_back(std::llround(1000 * units[i].took_ns / steps));
    }
  }
  service.batches = middle_of(elements);
  service.step_ps = std::llround(1000 * middle_of(own_ns));
  service.examples = std::llround(service.batches * examples_of_element(run, handed));
  const int end = last_stage(run);
  if (const StageWindow last = of_stage(handed, end); last.elements > 0) {
    service.bytes = std::llround(service.batches * static_cast<double>(last.bytes) /
                                 static_cast<double>(last.elements));
  }
  service.works_in_step = !reading.runs_ahead() && reading.ahead() >= 0;
  if (reading.runs_ahead()) {
    const StageWindow queue = of_stage(handed, reading.ahead());
    service.queue_depth =
        static_cast<std::int32_t>(std::clamp<std::uint64_t>(held_by(queue), 1, 1'000'000));
  }
  return service;
}

std::vector<std::int64_t> for_other_batches(const std::vector<std::int64_t>& ps,
                                            std::int64_t examples, std::int64_t wanted) {
  if (examples <= 0 || wanted <= 0 || examples == wanted || ps.empty()) return ps;
  const auto share = static_cast<double>(wanted) / static_cast<double>(examples);
  const auto count =
      static_cast<std::size_t>(std::max(1.0, std::floor(static_cast<double>(ps.size()) / share)));
  std::vector<std::int64_t> result;
  double at = 0;  // in the recorded batches
  for (std::size_t i = 0; i < count; ++i) {
    const double end = at + share;
    double sum_ps = 0;
    while (at < end - 1e-9) {
      const double next = std::min(end, std::floor(at + 1e-9) + 1);
      sum_ps +=
          (next - at) * static_cast<double>(ps[static_cast<std::size_t>(at + 1e-9) % ps.size()]);
      at = next;
    }
    result.push_back(std::llround(std::min(sum_ps, kBatchPsMax)));
  }
  return result;
}

}  // namespace infeed::tools
