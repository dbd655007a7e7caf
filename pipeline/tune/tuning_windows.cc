#include "tune/tuning_windows.h"

#include <algorithm>

namespace infeed::detail {
namespace {

// A window that says something: so long, and so many elements, or else much longer.
constexpr std::uint64_t kWindowNs = 200'000'000;
constexpr std::uint64_t kWindowElements = 30;
constexpr std::uint64_t kLongWindowNs = 1'000'000'000;
constexpr std::uint64_t kLongWindowElements = 3;
constexpr std::uint64_t kLongestWindowNs = 5'000'000'000;

}  // namespace

bool is_quiet(const TuningObservation& seen) {
  return seen.elements == 0 && 2 * seen.consumer_wait_ns < seen.window_ns;
}

bool is_whole(const TuningObservation& window) {
  if (window.window_ns >= kLongestWindowNs) return window.elements != 0;
  if (window.window_ns >= kLongWindowNs) return window.elements >= kLongWindowElements;
  return window.window_ns >= kWindowNs && window.elements >= kWindowElements;
}

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

std::vector<std::int64_t> values_of(const TuningObservation& seen) {
  std::vector<std::int64_t> values;
  for (const KnobState& knob : seen.knobs) values.push_back(knob.value);
  return values;
}

std::int64_t workers_in(const TuningObservation& seen, const std::vector<std::int64_t>& values) {
  std::int64_t sum = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (seen.knobs[i].kind == KnobKind::workers) sum += values[i];
  }
  return sum;
}

const std::string& label_of(const TuningObservation& seen, const KnobState& knob) {
  return seen.stages[static_cast<std::size_t>(knob.stage)].label;
}
}  // namespace infeed::detail
