#include "profile/blame.h"

#include <algorithm>
#include <fmt/format.h>
#include <span>
#include <utility>

#include "cli/limits.h"
#include "cli/stop_on_signal.h"
#include "cli/terminal.h"
#include "profile/busy_stages.h"
#include "profile/unusual_calls.h"

namespace infeed::tools {
namespace {

// A call explains a wait if it covers this share of the unusual part of the wait.
constexpr double kExplainingShare = 0.5;
// A share of a call, or of a wait, that makes it what it is.
constexpr double kMostOf = 0.5;
constexpr double kNearlyAll = 0.9;
/// Waiting that no sample saw is blamed only if it is this many times the computing.
constexpr double kUnseenWaits = 2;
// Shares of the wait for which the process must be held back by a quota, or short of memory.
constexpr double kHeldBackShare = 0.3;
constexpr double kFullMemory = 0.9;
constexpr std::uint64_t kReadAheadNs = 100'000'000;

/// How much of an interval others cover, of which there may be many: added up by their borders.
class Covered {
 public:
  explicit Covered(const std::vector<HeldBack>& held) {
    for (const HeldBack& one : held) {
      if (one.end_ns <= one.begin_ns) continue;
      begins_.push_back({one.begin_ns});
      ends_.push_back({one.end_ns});
    }
    for (auto* const borders : {&begins_, &ends_}) {
      std::ranges::sort(*borders, {}, &Border::at_ns);
      std::uint64_t sum = 0;
      for (Border& border : *borders) border.sum_ns = sum += border.at_ns;
    }
  }

  double of(const Interval& interval) const {
    if (interval.end_ns <= interval.begin_ns) return 0;
    return static_cast<double>(before(interval.end_ns) - before(interval.begin_ns));
  }

 private:
  struct Border {
    std::uint64_t at_ns;
    std::uint64_t sum_ns = 0;  ///< it and all before it
  };

  /// Sums pass 2^64 and come back, as all is added and taken away again.
  std::uint64_t before(std::uint64_t ns) const { return passed(begins_, ns) - passed(ends_, ns); }

  static std::uint64_t passed(const std::vector<Border>& borders, std::uint64_t ns) {
    const auto end = std::ranges::lower_bound(borders, ns, {}, &Border::at_ns);
    if (end == borders.begin()) return 0;
    return static_cast<std::uint64_t>(end - borders.begin()) * ns - std::prev(end)->sum_ns;
  }

  std::vector<Border> begins_, ends_;
};

/// In a sentence.
std::string shortened(const std::string& name) {
  if (name.size() <= limits::sentence_name_bytes) return name;
  return name.substr(0, limits::sentence_name_bytes) + "...";
}

/// Returns the middle of the cores that other processes had in the windows. They explain no late step
/// by what they do all the time.
double usual_cores_of_others(const RecordedRun& run) {
  std::vector<double> cores;
  for (const RecordedWindow& window : run.windows) cores.push_back(window.cores_of_others);
  return middle_of(std::move(cores));
}

class Blame {
 public:
  Blame(const RecordedRun& run, const FlowModel& model)
      : run_(run),
        model_(model),
        typical_(typical_step(run)),
        unusual_calls_(run),
        busy_stages_(run, unusual_calls_),
        held_back_(run.held_back),
        usual_others_(usual_cores_of_others(run)) {}

  std::vector<LateStep> steps(const std::stop_token& stop) const {
    std::vector<LateStep> late;
    const std::uint64_t limit_ns =
        typical_.length_ns + std::max(run_.slow_after_ns, typical_.length_ns / 2);
    for (const RecordedStep& step : run_.steps) {
      if (step.length_ns() <= limit_ns) continue;
      throw_if_stopped(stop, "the late steps were explained");
      LateStep one = explained(step);
      // The first one waits for the pipeline to begin; that is late only when something was slow. In a
      // recording that outgrew its limit the first one that is left is another.
      const bool is_start =
          &step == &run_.steps.front() && run_.detail_from_ns == 0 && one.slow_call < 0;
      if (!is_start) late.push_back(std::move(one));
    }
    return late;
  }

 private:
  LateStep explained(const RecordedStep& step) const {
    LateStep late{.step = step.number,
                  .begin_ns = step.begin_ns,
                  .length_ns = step.length_ns(),
                  .late_ns = step.length_ns() - typical_.length_ns};
    const std::uint64_t waited_ns =
        step.infeed_wait_ns - std::min(step.infeed_wait_ns, typical_.infeed_wait_ns);
    if (static_cast<double>(waited_ns) < kMostOf * static_cast<double>(late.late_ns)) {
      blame_step(step, late);
    } else {
      blame_input(step, waited_ns, late);
    }
    return late;
  }

  void blame_step(const RecordedStep& step, LateStep& late) const {
    const std::uint64_t own_ns = step.length_ns() - step.infeed_wait_ns;
    if (!step.name.empty()) {
      late.cause = Cause::recompilation;
      late.sentence =
          fmt::format("the step itself took {}: {}", duration_text(own_ns), shortened(step.name));
    } else if (held_back_ns({step.begin_ns, step.end_ns()}) >
               kHeldBackShare * static_cast<double>(late.late_ns)) {
      late.cause = Cause::quota;
      late.sentence =
          fmt::format("the CPU quota held the process back, and the step itself took {}",
                      duration_text(own_ns));
    } else if (static_cast<double>(step.idle_ns) > kMostOf * static_cast<double>(late.late_ns)) {
      late.cause = Cause::paused_consumer;
      late.sentence = fmt::format(
          "the training loop did something else for {} before the step; its input was "
          "there",
          duration_text(step.idle_ns));
    } else if (const double others = others_in({step.begin_ns, step.end_ns()});
               others - usual_others_ > kMostOf * run_.cores) {
      late.cause = Cause::others_on_cores;
      late.sentence =
          fmt::format("the step itself took {}, while other processes had {:.1f} of {:.0f} cores",
                      duration_text(own_ns), others, run_.cores);
    } else {
      late.cause = Cause::slow_step;
      late.sentence =
          fmt::format("the step itself took {}; its input was there", duration_text(own_ns));
    }
  }

  void blame_input(const RecordedStep& step, std::uint64_t waited_ns, LateStep& late) const {
    // The wait stands at the step's beginning; what isn't known of it is where idle time lies.
    const Interval wait{step.begin_ns, step.begin_ns + step.infeed_wait_ns + step.idle_ns};
    const int call = slowest_call_in(wait, waited_ns);
    if (call >= 0) {
      blame_call(call, wait, late);
    } else if (held_back_ns(wait) > kHeldBackShare * static_cast<double>(waited_ns)) {
      late.cause = Cause::quota;
      late.sentence = fmt::format("the CPU quota held the process back while the step waited {}",
                                  duration_text(step.infeed_wait_ns));
    } else if (const RecordedTuning* const change = change_in(wait)) {
      late.cause = Cause::tuner_change;
      late.sentence = "the tuner changed a setting: " + shortened(change->text);
    } else if (memory_was_full(wait)) {
      late.cause = Cause::memory_limit;
      late.sentence = "the memory limit left no room to read ahead";
    } else {
      blame_rate(wait, waited_ns, late);
    }
  }

  /// The call that covers most of the wait; -1 when none covers enough of it.
  int slowest_call_in(const Interval& wait, std::uint64_t waited_ns) const {
    int best = -1;
    std::uint64_t best_ns = 0;
    // Those that begin later can't matter, nor those before the first one that ends later.
    const std::size_t first = unusual_calls_.first_that_may_end_after(wait.begin_ns);
    const std::uint64_t wait_ns = wait.end_ns - std::min(wait.begin_ns, wait.end_ns);
    auto at = run_.slow_calls.begin() + static_cast<std::ptrdiff_t>(first);
    for (; at != run_.slow_calls.end() && at->begin_ns < wait.end_ns; ++at) {
      if (best_ns >= wait_ns || !may_look()) break;
      if (!unusual_calls_.is_unusual(*at)) continue;
      const std::uint64_t covers_ns = wait.overlap_ns({at->begin_ns, at->end_ns()});
      if (covers_ns <= best_ns) continue;
      best = static_cast<int>(at - run_.slow_calls.begin());
      best_ns = covers_ns;
    }
    const bool is_enough =
        static_cast<double>(best_ns) > kExplainingShare * static_cast<double>(waited_ns);
    return is_enough ? best : -1;
  }

  /// Limits the looks: in a file whose steps overlap, each step might look at the whole recording.
  bool may_look() const {
    if (looks_left_ == 0) return false;
    --looks_left_;
    return true;
  }

  void blame_call(int index, const Interval& wait, LateStep& late) const {
    const SlowCall& call = run_.slow_calls[static_cast<std::size_t>(index)];
    const RecordedStage& stage = run_.stages[static_cast<std::size_t>(call.stage)];
    late.slow_call = index;
    late.stage = call.stage;
    late.cause = cause_of(call, wait);
    late.sentence = sentence_of(late.cause, call, stage);
    if (const auto& place = call.place) {
      late.sentence += place->count == 1
                           ? fmt::format(": {} record {}", shortened(place->file), place->record)
                           : fmt::format(": {} records {} to {}", shortened(place->file),
                                         place->record, place->record + place->count - 1);
    } else {
      late.sentence +=
          fmt::format(": element {}, not traced ({})", call.position, shortened(call.untraceable));
    }
  }

  static std::string sentence_of(Cause cause, const SlowCall& call, const RecordedStage& stage) {
    const std::string took = duration_text(call.took_ns);
    const std::string label = shortened(stage.label);
    switch (cause) {
      case Cause::slow_read:
        return fmt::format("{} took {} for a read", label, took);
      case Cause::slow_element:
        return fmt::format("{} computed {}{} on an element", label,
                           duration_text(computed_ns(call)),
                           computed_ns(call) < call.took_ns ? " of " + took : "");
      case Cause::waiting_function:
        return fmt::format("the function of {} waited {}{}", label, took,
                           call.waited_in.empty() ? "" : " (" + shortened(call.waited_in) + ")");
      default:
        return fmt::format("{} had no core for most of {} ({})", label, took, words_of(cause));
    }
  }

  /// All of it, where the thread was hardly off its core.
  static std::uint64_t computed_ns(const SlowCall& call) {
    const bool is_all =
        static_cast<double>(call.cpu_ns) > kNearlyAll * static_cast<double>(call.took_ns);
    return is_all ? call.took_ns : call.cpu_ns;
  }

  /// By the largest part of the call's time: without a core, computing, or waiting.
  Cause cause_of(const SlowCall& call, const Interval& wait) const {
    const auto took_ns = static_cast<double>(call.took_ns);
    const auto cpu_ns = static_cast<double>(call.cpu_ns);
    const auto preempted_ns = static_cast<double>(call.preempted_ns);
    if (preempted_ns > kMostOf * took_ns) {
      return held_back_ns(wait) > 0 ? Cause::quota : Cause::others_on_cores;
    }
    // A thread that is held back neither waits anywhere nor for a core.
    const double off_core_ns = took_ns - cpu_ns;
    if (off_core_ns > kMostOf * took_ns && call.waited_in.empty() &&
        held_back_ns({call.begin_ns, call.end_ns()}) > kMostOf * off_core_ns) {
      return Cause::quota;
    }
    if (model_.is_source(call.stage)) return Cause::slow_read;
    // Time off the cores that nobody saw spent waiting may as well be a container's or a
    // hypervisor's.
    const double doubt = call.waited_in.empty() ? kUnseenWaits : 1;
    return off_core_ns - preempted_ns > doubt * cpu_ns ? Cause::waiting_function
                                                       : Cause::slow_element;
  }

  /// By the quota: what was seen of it; else, in the windows that the interval touches.
  double held_back_ns(const Interval& interval) const {
    if (!run_.held_back.empty()) return held_back_.of(interval);
    double sum_ns = 0;
    for (const RecordedWindow& window : windows_of(interval)) {
      sum_ns += static_cast<double>(window.throttled_ns);
    }
    return sum_ns;
  }

  std::span<const RecordedWindow> windows_of(const Interval& interval) const {
    auto at = std::lower_bound(run_.windows.begin(), run_.windows.end(), interval.begin_ns,
                               [](const RecordedWindow& window, std::uint64_t begin) {
                                 return window.begin_ns + window.length_ns < begin;
                               });
    const auto first = at;
    for (; at != run_.windows.end() && at->begin_ns < interval.end_ns; ++at) {
      // A window counts one look for each stage, since later work grows with their number.
      looks_left_ -= std::min<std::uint64_t>(looks_left_, at->stages.size());
      if (!may_look()) break;
    }
    return {first, at};
  }

  const RecordedTuning* change_in(const Interval& interval) const {
    const auto at =
        std::ranges::lower_bound(run_.tuning, interval.begin_ns, {}, &RecordedTuning::at_ns);
    return at != run_.tuning.end() && at->at_ns <= interval.end_ns ? &*at : nullptr;
  }

  bool memory_was_full(const Interval& interval) const {
    // Looks before the interval, too: elements from the queue were read ahead up to the limit.
    const std::uint64_t before_ns = std::min(interval.begin_ns, kReadAheadNs);
    const std::span<const RecordedWindow> windows =
        windows_of({interval.begin_ns - before_ns, interval.end_ns});
    return std::any_of(windows.begin(), windows.end(), [](const RecordedWindow& window) {
      return window.memory_refusals > 0 ||
             (window.memory_limit_bytes != 0 &&
              static_cast<double>(window.memory_bytes) >
                  kFullMemory * static_cast<double>(window.memory_limit_bytes));
    });
  }

  /// The most cores that other processes had in one of the windows.
  double others_in(const Interval& interval) const {
    double others = 0;
    for (const RecordedWindow& window : windows_of(interval))
      others = std::max(others, window.cores_of_others);
    return others;
  }

  void blame_rate(const Interval& wait, std::uint64_t waited_ns, LateStep& late) const {
    const double others = others_in(wait);
    const std::span<const RecordedWindow> windows = windows_of(wait);
    looks_left_ -= std::min<std::uint64_t>(looks_left_, run_.stages.size());
    late.stage =
        may_look() ? busy_stages_.starving_stage(windows, wait, waited_ns, looks_left_) : -1;
    if (others > kMostOf * run_.cores) {
      late.cause = Cause::others_on_cores;
      late.sentence = fmt::format("other processes had {:.1f} of {:.0f} cores", others, run_.cores);
    } else if (late.stage >= 0) {
      late.cause = Cause::starved;
      late.sentence =
          fmt::format("{} gives less than the step takes",
                      shortened(run_.stages[static_cast<std::size_t>(late.stage)].label));
    } else {
      late.sentence = "nothing that was recorded explains it";
    }
  }

  const RecordedRun& run_;
  const FlowModel& model_;
  const TypicalStep typical_;
  const UnusualCalls unusual_calls_;
  const BusyStages busy_stages_;
  const Covered held_back_;
  const double usual_others_;  ///< cores that other processes have most of the time
  mutable std::uint64_t looks_left_ = limits::looks_at_waits;
};

}  // namespace

TypicalStep typical_step(const RecordedRun& run) {
  std::vector<std::uint64_t> lengths;
  std::vector<std::uint64_t> waits;
  for (const RecordedStep& step : run.detailed_steps()) {
    lengths.push_back(step.length_ns());
    waits.push_back(step.infeed_wait_ns);
  }
  return {middle_of(std::move(lengths)), middle_of(std::move(waits))};
}

std::vector<LateStep> late_steps(const RecordedRun& run, const FlowModel& model,
                                 const std::stop_token& stop) {
  return Blame(run, model).steps(stop);
}

}  // namespace infeed::tools
