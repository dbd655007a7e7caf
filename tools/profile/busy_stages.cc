#include "profile/busy_stages.h"

#include <algorithm>
#include <limits>

namespace infeed::tools {
namespace {

/// It worked for at least so much of the wait, beyond what it usually does.
constexpr double kWorkedShare = 0.5;
/// Windows know of what a stage did in calls that are left out to so much of it: what they count is from
/// samples, and a stall of 40 ms left a millisecond to the step behind it.
constexpr double kUnusualDoubt = 0.1;

double length_ns(std::span<const RecordedWindow> windows) {
  double sum_ns = 0;
  for (const RecordedWindow& window : windows) sum_ns += static_cast<double>(window.length_ns);
  return sum_ns;
}

}  // namespace

BusyStages::BusyStages(const RecordedRun& run, const UnusualCalls& unusual_calls)
    : unusual_calls_(unusual_calls), usual_shares_(run.stages.size(), 0) {
  const double all_ns = length_ns(run.windows);
  if (all_ns <= 0) return;
  std::uint64_t looks = run.slow_calls.size();
  const Interval always{run.windows.front().begin_ns, std::numeric_limits<std::uint64_t>::max()};
  const auto busy = busy_stages(run.windows, unusual_calls.outside_ns(always, {}, looks));
  std::ranges::transform(busy, usual_shares_.begin(),
                         [all_ns](const Busy& stage) { return std::min(1.0, stage.ns / all_ns); });
}

int BusyStages::starving_stage(std::span<const RecordedWindow> windows, const Interval& wait,
                               std::uint64_t waited_ns, std::uint64_t& looks) const {
  if (windows.empty()) return -1;
  const RecordedWindow& last = windows.back();
  const Interval counted{windows.front().begin_ns, last.begin_ns + last.length_ns};
  const std::vector<Busy> busy =
      busy_stages(windows, unusual_calls_.outside_ns(counted, wait, looks));
  const auto most = std::ranges::max_element(busy, {}, &Busy::ns);
  if (most == busy.end() || most->ns <= 0) return -1;
  const auto stage = most - busy.begin();
  const double all_ns = length_ns(windows);
  const double in_wait_ns = std::min(static_cast<double>(waited_ns), all_ns);
  const double usual_ns = usual_shares_[static_cast<std::size_t>(stage)] * (all_ns - in_wait_ns);
  const double more_ns = std::max(kWorkedShare * in_wait_ns, kUnusualDoubt * most->unusual_ns);
  return most->ns < usual_ns + more_ns ? -1 : static_cast<int>(stage);
}

std::vector<BusyStages::Busy> BusyStages::busy_stages(
    std::span<const RecordedWindow> windows, const std::vector<std::uint64_t>& unusual_ns) {
  std::vector<Busy> busy(unusual_ns.size());
  std::vector<int> threads(unusual_ns.size(), 1);
  for (const RecordedWindow& window : windows) {
    for (const StageWindow& row : window.stages) {
      const auto stage = static_cast<std::size_t>(row.stage);
      threads[stage] = std::max(1, row.parallelism);
      busy[stage].ns += static_cast<double>(row.cpu_ns + row.blocked_ns) / threads[stage];
    }
  }
  for (std::size_t stage = 0; stage < busy.size(); ++stage) {
    busy[stage].unusual_ns = static_cast<double>(unusual_ns[stage]) / threads[stage];
    busy[stage].ns = std::max(0.0, busy[stage].ns - busy[stage].unusual_ns);
  }
  return busy;
}

}  // namespace infeed::tools
