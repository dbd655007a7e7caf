#include "profile/recorded_service.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <string_view>

#include <infeed/error.h>

#include "cli/limits.h"
#include "profile/flow_model.h"

namespace infeed::tools {
namespace {

/// A step has waited for its input if the wait exceeds this time and this share of the step. Taking
/// a ready batch may take a wake-up through the kernel, too, which is not the pipeline's work.
constexpr std::uint64_t kWaitMinNs = 20'000;
constexpr double kWaitMinShare = 0.1;
/// Steps that lie further apart don't follow each other: the file lacks the time between them.
constexpr std::uint64_t kGapMaxNs = 1'000'000;
/// Windows are put together until the training step took this many elements in them: the stages
/// then worked on about as many.
constexpr std::uint64_t kElementsOfPart = 16;
/// Windows are also put together until looking at all stages for each part takes no longer than
/// this.
constexpr std::size_t kStagesOfParts = 20'000'000;
/// A pipeline that counts as running ahead may do this share of an element's work in the training
/// step's own thread.
constexpr double kOwnWorkMax = 0.2;
/// Longer batches, which a recording may claim, are refused by name instead of overflowing.
constexpr double kBatchPsMax = 4e18;
/// The most windows that are looked at to find one that has a stage.
constexpr int kWindowsLookedAt = 16;
/// The least part of the average that is left for a batch beside slow ones.
constexpr double kLeftMin = 0.25;

/// Some windows that follow each other.
struct WorkPart {
  std::uint64_t end_ns = 0;
  double element_ns = 0;  ///< that the stages take for an element of the pipeline's end
};

std::vector<WorkPart> parts_of(const RecordedRun& run) {
  std::vector<WorkPart> parts;
  RecordedRun piece;
  piece.stages = run.stages;
  const std::size_t windows_min = run.windows.size() * run.stages.size() / kStagesOfParts;
  std::uint64_t elements = 0;
  for (std::size_t i = 0; i < run.windows.size(); ++i) {
    piece.windows.push_back(run.windows[i]);
    elements += run.windows[i].elements;
    const bool is_last = i + 1 == run.windows.size();
    const bool is_whole = elements >= kElementsOfPart && piece.windows.size() >= windows_min;
    if (!is_whole && !is_last) continue;
    const double per_s = FlowModel(piece).pipeline_steps_per_s();
    const std::uint64_t end_ns = run.windows[i].begin_ns + run.windows[i].length_ns;
    // A rest with hardly any element says little: the part before it goes on.
    if (elements < kElementsOfPart && !parts.empty()) {
      parts.back().end_ns = end_ns;
    } else {
      parts.push_back({end_ns, per_s > 0 ? 1e9 / per_s : 0});
    }
    piece.windows.clear();
    elements = 0;
  }
  return parts;
}

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
  double took_ns = 0;     ///< at least, as it was seen; 0: nothing was seen
};

class ServiceReading {
 public:
  ServiceReading(const RecordedRun& run, const std::vector<StageWindow>& handed)
      : run_(run), parts_(parts_of(run)) {
    ahead_ = stage_ahead(run);
    runs_ahead_ = ahead_ >= 0 && own_work_share(handed) <= kOwnWorkMax;
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
      units.push_back({.average_ns = element_ns * static_cast<double>(step.elements),
                       .took_ns = static_cast<double>(seen_ns(i))});
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
  /// Returns the share of the stages behind the one that runs ahead in all that an element takes.
  double own_work_share(const std::vector<StageWindow>& handed) const {
    const auto elements = static_cast<double>(of_stage(handed, last_stage(run_)).elements);
    double all_ns = 0;
    for (const WorkPart& part : parts_) all_ns += part.element_ns;
    double own_ns = 0;
    for (int stage = last_stage(run_); stage >= 0 && stage != ahead_;) {
      const StageWindow work = of_stage(handed, stage);
      own_ns += static_cast<double>(work.cpu_ns + work.blocked_ns);
      const auto next = std::ranges::find(run_.stages, stage, &RecordedStage::consumer);
      stage = next == run_.stages.end() ? -1 : next->id;
    }
    if (elements == 0 || all_ns == 0) return 0;
    return own_ns / elements / (all_ns / static_cast<double>(parts_.size()));
  }

  std::size_t part_at(std::uint64_t ns) const {
    const auto found = std::ranges::upper_bound(parts_, ns, {}, &WorkPart::end_ns);
    const auto at = static_cast<std::size_t>(found - parts_.begin());
    return parts_.empty() ? 0 : std::min(at, parts_.size() - 1);
  }

  static bool has_waited(const RecordedStep& step) {
    const auto wait_ns = static_cast<double>(step.infeed_wait_ns);
    return step.infeed_wait_ns > kWaitMinNs * std::max<std::uint64_t>(1, step.elements) &&
           wait_ns > kWaitMinShare * static_cast<double>(step.length_ns());
  }
  static std::uint64_t ready_ns(const RecordedStep& step) {
    return step.begin_ns + step.infeed_wait_ns;
  }

  /// Returns what step i shows of the time that its input took; 0: nothing.
  std::uint64_t seen_ns(std::size_t i) const {
    const RecordedStep& step = run_.steps[i];
    if (!has_waited(step)) return 0;
    if (!runs_ahead_) return step.infeed_wait_ns;
    if (i == 0 || step.begin_ns > run_.steps[i - 1].end_ns() + kGapMaxNs) return 0;
    const RecordedStep& before = run_.steps[i - 1];
    // The pipeline began with this input when the one before was ready. That one was there when its
    // step began, unless the step waited for it.
    const std::uint64_t began_ns = has_waited(before) ? ready_ns(before) : before.begin_ns;
    return ready_ns(step) - std::min(began_ns, ready_ns(step));
  }

  /// Adds slow calls that nobody waited for, since batches made ahead hid them.
  void add_slow_calls(std::vector<StepInput>& units) const {
    for (const SlowCall& call : run_.slow_calls) {
      const auto after =
          std::ranges::upper_bound(run_.steps, call.begin_ns, {}, &RecordedStep::begin_ns);
      if (after == run_.steps.begin()) continue;
      StepInput& unit = units[static_cast<std::size_t>(after - run_.steps.begin()) - 1];
      if (unit.took_ns > 0) continue;
      unit.took_ns = unit.average_ns +
                     static_cast<double>(call.took_ns) / parallelism(call.stage, call.begin_ns);
    }
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
  const std::vector<WorkPart> parts_;
  int ahead_ = -1;
  bool runs_ahead_ = false;
  std::vector<std::size_t> part_of_;  ///< by step
};

template <class Value>
Value middle_of(std::vector<Value> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

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
    service.queue_depth = static_cast<std::int32_t>(std::clamp<std::uint64_t>(
        std::max(queue.queue_elements_max, queue.buffered_elements), 1, 1'000'000));
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
