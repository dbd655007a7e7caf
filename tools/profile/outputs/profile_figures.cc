#include "profile/outputs/profile_figures.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <map>
#include <numeric>
#include <unordered_map>
#include <utility>

#include <infeed/device/step_accounting.h>

#include "cli/terminal.h"

namespace infeed::tools {
namespace {

std::uint64_t whole_ns(std::int64_t ns) {
  return static_cast<std::uint64_t>(std::max<std::int64_t>(0, ns));
}

}  // namespace

std::uint64_t steps_ns(const ProfileReport& report) {
  std::uint64_t sum = 0;
  for (const StepPart& part : kStepParts) sum += report.*part.of_run;
  return sum;
}

std::uint64_t duration_ns(const RecordedRun& run) {
  std::uint64_t end = 0;
  for (const RecordedStep& step : run.steps) end = std::max(end, step.end_ns());
  for (const RecordedWindow& window : run.windows) {
    end = std::max(end, window.begin_ns + window.length_ns);
  }
  for (const SlowCall& call : run.slow_calls) end = std::max(end, call.end_ns());
  for (const RecordedTuning& tuning : run.tuning) end = std::max(end, tuning.at_ns);
  return end;
}

std::uint64_t windows_ns(const RecordedRun& run) {
  std::uint64_t sum = 0;
  for (const RecordedWindow& window : run.windows) sum += window.length_ns;
  return sum;
}

std::vector<Stall> stalls_of(const ProfileReport& report) {
  std::map<std::pair<Cause, int>, Stall> by_kind;
  for (const LateStep& late : report.late_steps) {
    Stall& stall = by_kind[{late.cause, late.stage}];
    stall.cause = late.cause;
    stall.stage = late.stage;
    stall.steps += 1;
    stall.late_ns += late.late_ns;
  }
  std::vector<Stall> stalls;
  for (const auto& [kind, stall] : by_kind) stalls.push_back(stall);
  std::stable_sort(stalls.begin(), stalls.end(),
                   [](const Stall& a, const Stall& b) { return a.late_ns > b.late_ns; });
  return stalls;
}

std::vector<StageTotals> stage_totals(const RecordedRun& run) {
  std::vector<StageTotals> totals(run.stages.size());
  std::vector<double> filled_ns(run.stages.size()), queued_ns(run.stages.size());
  for (const RecordedWindow& window : run.windows) {
    for (const StageWindow& stage : window.stages) {
      if (!is_stage(run, stage.stage)) continue;
      const auto id = static_cast<std::size_t>(stage.stage);
      totals[id].bytes += stage.bytes;
      if (stage.queue_elements_max == 0) continue;
      totals[id].queue_elements_max = stage.queue_elements_max;
      const double fill = static_cast<double>(stage.buffered_elements) /
                          static_cast<double>(stage.queue_elements_max);
      filled_ns[id] += std::min(fill, 1.0) * static_cast<double>(window.length_ns);
      queued_ns[id] += static_cast<double>(window.length_ns);
    }
  }
  for (std::size_t id = 0; id < totals.size(); ++id) {
    if (queued_ns[id] > 0) totals[id].queue_fill = filled_ns[id] / queued_ns[id];
  }
  return totals;
}

bool is_stage(const RecordedRun& run, int stage) {
  return stage >= 0 && static_cast<std::size_t>(stage) < run.stages.size();
}

std::string label_of(const RecordedRun& run, int stage) {
  if (!is_stage(run, stage)) return "";
  const RecordedStage& found = run.stages[static_cast<std::size_t>(stage)];
  return found.label.empty() ? found.name : found.label;
}

int taker_of(const RecordedRun& run, int stage) {
  if (!is_stage(run, stage)) return -1;
  const RecordedStage& found = run.stages[static_cast<std::size_t>(stage)];
  return is_stage(run, found.consumer) ? found.consumer : found.inside;
}

std::vector<int> chain_to(const RecordedRun& run, int stage) {
  std::vector<int> chain;
  // Bounded, as a file may name stages that pull each other in a circle.
  for (; is_stage(run, stage) && chain.size() < run.stages.size(); stage = taker_of(run, stage)) {
    chain.push_back(stage);
  }
  std::reverse(chain.begin(), chain.end());
  return chain;
}

const SlowCall* slow_call_of(const RecordedRun& run, const LateStep& late) {
  if (late.slow_call < 0 || static_cast<std::size_t>(late.slow_call) >= run.slow_calls.size()) {
    return nullptr;
  }
  return &run.slow_calls[static_cast<std::size_t>(late.slow_call)];
}

std::vector<std::size_t> steps_in_line(const RecordedRun& run) {
  std::vector<std::size_t> order(run.steps.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return run.steps[a].begin_ns < run.steps[b].begin_ns;
  });
  std::uint64_t end_ns = 0;
  std::erase_if(order, [&](std::size_t i) {
    if (run.steps[i].begin_ns < end_ns) return true;
    end_ns = run.steps[i].end_ns();
    return false;
  });
  return order;
}

std::vector<int> late_index_by_step(const RecordedRun& run, const ProfileReport& report) {
  std::unordered_map<std::uint64_t, int> by_number;
  for (std::size_t i = 0; i < report.late_steps.size(); ++i) {
    by_number[report.late_steps[i].step] = static_cast<int>(i);
  }
  std::vector<int> indices;
  indices.reserve(run.steps.size());
  for (const RecordedStep& step : run.steps) {
    const auto found = by_number.find(step.number);
    indices.push_back(found == by_number.end() ? -1 : found->second);
  }
  return indices;
}

std::string place_text(const RecordedPlace& place) {
  std::string text = place.file + ", ";
  if (place.count > 1) {
    text += fmt::format("records {} to {}", with_commas(place.record),
                        with_commas(place.record + place.count - 1));
  } else {
    text += fmt::format("record {}", with_commas(place.record));
  }
  if (place.offset) text += fmt::format(" at byte {}", with_commas(*place.offset));
  return text;
}

std::string origin_text(const SlowCall& call) {
  if (call.place) return place_text(*call.place);
  return call.untraceable.empty() ? "" : "no record can be named: " + call.untraceable;
}

std::string run_text(const RecordedRun& run) {
  std::string text = run.program.empty() ? "a program" : run.program;
  if (!run.host.empty()) text += " on " + run.host;
  if (run.process != 0) text += fmt::format(" (process {})", run.process);
  const std::uint64_t all_ns = duration_ns(run);
  text += fmt::format(", {} {} in ", with_commas(run.steps_taken()),
                      run.has_steps ? "steps" : "elements taken");
  if (run.detail_from_ns == 0) {
    text += duration_text(all_ns);
  } else {
    text += fmt::format("the last {} of {}; older steps are kept only where they were late",
                        duration_text(all_ns - std::min(all_ns, run.detail_from_ns)),
                        duration_text(all_ns));
  }
  if (run.is_cut) return text + "; the recording has no end: the process was killed, or still runs";
  return run.end.empty() || run.end == "end of data" ? text : text + "; it ended with: " + run.end;
}

std::string replay_title(const ReplayedRun& replayed) {
  std::string text = "Replayed on " + replayed.slice;
  if (replayed.hosts > 1) text += fmt::format(" ({} hosts)", replayed.hosts);
  if (!replayed.model.empty()) text += ", " + replayed.model;
  if (replayed.batch > 0) text += ", batch " + with_commas(replayed.batch);
  return text + fmt::format(": steps of {}{}", duration_text(whole_ns(replayed.step_ns)),
                            replayed.model.empty() ? ", as recorded" : "");
}

std::vector<std::string> replay_sentences(const ReplayedRun& replayed, double steps_per_s) {
  const double percent = replayed.input_bound_percent;
  const InputVerdict verdict = input_verdict(percent / 100);
  const std::string_view bound = verdict == InputVerdict::highly_bound       ? "highly"
                                 : verdict == InputVerdict::moderately_bound ? "moderately"
                                                                             : "not";
  std::vector<std::string> sentences;
  sentences.push_back(fmt::format(
      "{} input-bound: {:.1f} % of the steps' time is waiting for input; {:.4g} steps{} "
      "a second",
      bound, percent, replayed.steps_per_s,
      replayed.examples_per_s > 0
          ? " and " + with_commas(std::llround(replayed.examples_per_s)) + " examples"
          : ""));
  if (replayed.model_flop_utilisation > 0) {
    sentences.push_back(fmt::format("model FLOP utilisation {:.1f} % of the slice's peak",
                                    100 * replayed.model_flop_utilisation));
  }
  if (verdict != InputVerdict::not_bound) {
    sentences.push_back(fmt::format("with {} batches ready on each host instead of 2: {:.1f} %",
                                    replayed.deep_queue, replayed.deep_queue_input_bound_percent));
  }
  std::string service = fmt::format("a host takes {} for its share (p50), {} (p99)",
                                    duration_text(whole_ns(replayed.service_p50_ns)),
                                    duration_text(whole_ns(replayed.service_p99_ns)));
  if (replayed.hosts > 1) {
    service += fmt::format("; all wait for the slowest, which takes {} (p50)",
                           duration_text(whole_ns(replayed.slowest_host_p50_ns)));
  }
  sentences.push_back(std::move(service));
  if (replayed.as_recorded_steps_per_s > 0) {
    sentences.push_back(fmt::format(
        "for comparison: replayed as it was recorded, this run makes {:.4g} steps a second; it "
        "made {:.4g}",
        replayed.as_recorded_steps_per_s, steps_per_s));
  }
  if (!replayed.note.empty()) sentences.push_back(replayed.note);
  return sentences;
}

double percent_of_steps(const ProfileReport& report, std::uint64_t ns) {
  const std::uint64_t all = steps_ns(report);
  return all == 0 ? 0 : 100 * static_cast<double>(ns) / static_cast<double>(all);
}

}  // namespace infeed::tools
