#include "profile/unusual_calls.h"

#include <algorithm>

namespace infeed::tools {
namespace {

constexpr double kUnusualTimes = 2;

/// Returns what calls of each stage usually take, from all its calls (not only the slow ones).
std::vector<std::uint64_t> usual_calls_ns(const RecordedRun& run) {
  std::vector<std::uint64_t> usual(run.stages.size(), 0);
  for (std::size_t stage = 0; stage < run.call_histograms.size(); ++stage) {
    const std::vector<std::uint64_t>& counts = run.call_histograms[stage];
    std::uint64_t all = 0;
    for (const std::uint64_t count : counts) all += count;
    std::uint64_t below = 0;
    for (std::size_t i = 0; i < counts.size() && all != 0; ++i) {
      below += counts[i];
      if (2 * below < all) continue;
      usual[stage] = std::uint64_t{3} << i >> 1;  // the middle of the bucket
      break;
    }
  }
  return usual;
}

}  // namespace

UnusualCalls::UnusualCalls(const RecordedRun& run) : run_(run), usual_ns_(usual_calls_ns(run)) {
  std::uint64_t end_ns = 0;
  for (const SlowCall& call : run.slow_calls) {
    end_ns = std::max(end_ns, call.end_ns());
    ends_ns_.push_back(end_ns);
  }
}

bool UnusualCalls::is_unusual(const SlowCall& call) const {
  const std::uint64_t usual_ns = usual_ns_[static_cast<std::size_t>(call.stage)];
  return static_cast<double>(call.took_ns) >= kUnusualTimes * static_cast<double>(usual_ns);
}

std::size_t UnusualCalls::first_that_may_end_after(std::uint64_t ns) const {
  return static_cast<std::size_t>(std::ranges::upper_bound(ends_ns_, ns) - ends_ns_.begin());
}

std::vector<std::uint64_t> UnusualCalls::outside_ns(const Interval& counted, const Interval& wait,
                                                    std::uint64_t& looks) const {
  std::vector<std::uint64_t> sums(run_.stages.size(), 0);
  std::size_t at = first_that_may_end_after(counted.begin_ns);
  for (; at != run_.slow_calls.size() && looks != 0; ++at, --looks) {
    const SlowCall& call = run_.slow_calls[at];
    if (call.begin_ns >= counted.end_ns) break;
    const bool ends_there = call.end_ns() > counted.begin_ns && call.end_ns() <= counted.end_ns;
    if (!ends_there || !is_unusual(call)) continue;
    const std::uint64_t inside_ns = wait.overlap_ns({call.begin_ns, call.end_ns()});
    sums[static_cast<std::size_t>(call.stage)] += call.took_ns - std::min(call.took_ns, inside_ns);
  }
  return sums;
}

}  // namespace infeed::tools
