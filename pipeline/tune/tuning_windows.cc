#include "tune/tuning_windows.h"

#include <algorithm>
#include <utility>

namespace infeed::detail {
namespace {

// A window is whole when it has this length and as many elements, or fewer if it is much longer.
constexpr std::uint64_t kWindowNs = 200'000'000;
constexpr std::uint64_t kWindowElements = 30;
constexpr std::uint64_t kLongWindowNs = 1'000'000'000;
constexpr std::uint64_t kLongWindowElements = 3;
constexpr std::uint64_t kLongestWindowNs = 5'000'000'000;
// A consumer pauses if it takes nothing for this long, and for this many of its usual intervals.
constexpr double kPauseNs = 500e6;
constexpr double kPauseElements = 5;
// Phases shorter than kShortPhaseNs are bursts. There are no more bursts after a phase longer than
// kLongPhaseNs.
constexpr std::uint64_t kShortPhaseNs = 3'000'000'000;
constexpr std::uint64_t kShortPhaseWindows = 6;
constexpr std::uint64_t kLongPhaseNs = 20'000'000'000;
constexpr std::uint64_t kBurstyWindowNsMin = 400'000'000;
constexpr std::uint64_t kBurstyWindowNsMax = 3'200'000'000;

/// True if the consumer is busy with something.
bool is_quiet(const TuningObservation& seen) {
  return seen.elements == 0 && 2 * seen.consumer_wait_ns < seen.window_ns;
}

bool is_whole(const TuningObservation& window) {
  if (window.window_ns >= kLongestWindowNs) return window.elements != 0;
  if (window.window_ns >= kLongWindowNs) return window.elements >= kLongWindowElements;
  return window.window_ns >= kWindowNs && window.elements >= kWindowElements;
}

/// Adds the next window to `sum`.
void add_up(TuningObservation& sum, const TuningObservation& seen) {
  if (sum.stages.size() != seen.stages.size() || sum.knobs.size() != seen.knobs.size()) {
    sum = seen;
    return;
  }
  const TuningObservation before = sum;
  sum = seen;
  sum.window_ns += before.window_ns;
  sum.elements += before.elements;
  sum.consumer_wait_ns += before.consumer_wait_ns;
  sum.process_cpu_ns += before.process_cpu_ns;
  const double share = static_cast<double>(seen.window_ns) /
                       static_cast<double>(std::max<std::uint64_t>(1, sum.window_ns));
  sum.cores_of_others = share * seen.cores_of_others + (1 - share) * before.cores_of_others;
  for (std::size_t i = 0; i < sum.stages.size(); ++i) {
    sum.stages[i].elements += before.stages[i].elements;
    sum.stages[i].cpu_ns += before.stages[i].cpu_ns;
    sum.stages[i].blocked_ns += before.stages[i].blocked_ns;
  }
  for (std::size_t i = 0; i < sum.knobs.size(); ++i) {
    sum.knobs[i].low = std::min(sum.knobs[i].low, before.knobs[i].low);
  }
}

}  // namespace

/// A consumer that took nothing for a while was busy with its element. In a longer pause it did
/// something else (an evaluation, a checkpoint), from which nothing can be learnt.
std::optional<TuningObservation> TuningWindows::behind_quiet(const TuningObservation& seen,
                                                             double usual_rate) {
  if (is_quiet(seen)) {
    add_up(quiet_, seen);
    return std::nullopt;
  }
  TuningObservation both = std::exchange(quiet_, {});
  const double usual_ns =
      std::max(kPauseNs, usual_rate == 0 ? 1e18 : kPauseElements * 1e9 / usual_rate);
  if (static_cast<double>(both.window_ns) > usual_ns) return seen;
  add_up(both, seen);
  return both;
}

std::optional<TuningObservation> TuningWindows::whole(const TuningObservation& seen) {
  add_up(window_, seen);
  if (!is_whole(window_) || window_.window_ns < ns_min_) return std::nullopt;
  return std::exchange(window_, {});
}

/// Makes windows longer if work comes in bursts, so that they hold several. In short windows it
/// looks like one phase after the other, and each trial like a loss or a gain. (With stalls of 200
/// ms every 600 ms, windows of 200 ms made ten phases in 20 s, and a useless change in two of
/// them.)
void TuningWindows::note_phase(std::uint64_t at_ns) {
  const auto began_ns = std::exchange(phase_began_ns_, at_ns);
  if (!began_ns) return;  // the first phase includes the start of the run
  if (at_ns - *began_ns < std::max(kShortPhaseNs, kShortPhaseWindows * ns_min_)) {
    ns_min_ = std::clamp(2 * ns_min_, kBurstyWindowNsMin, kBurstyWindowNsMax);
  } else if (at_ns - *began_ns > kLongPhaseNs) {
    ns_min_ = 0;
  }
}

KnobValues values_of(const TuningObservation& seen) {
  KnobValues values;
  for (const KnobState& knob : seen.knobs) values.push_back(knob.value);
  return values;
}

std::int64_t workers_in(const TuningObservation& seen, const KnobValues& values) {
  std::int64_t sum = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (seen.knobs[i].kind == KnobKind::workers) sum += values[i];
  }
  return sum;
}

const std::string& label_of(const TuningObservation& seen, const KnobState& knob) {
  return seen.stages[static_cast<std::size_t>(knob.stage)].label;
}

void set_knobs(const TuningObservation& seen, const KnobValues& values, TuningDecision& decision) {
  for (std::size_t i = 0; i < values.size() && i < seen.knobs.size(); ++i) {
    if (values[i] != seen.knobs[i].value)
      decision.settings.push_back({seen.knobs[i].id, values[i]});
  }
}

}  // namespace infeed::detail
