#include "tune/kept_savings.h"

#include <algorithm>

namespace infeed::detail {
namespace {

// Savings are undone if the rate falls below this share later in the same phase, or if the consumer
// waits longer, for this long.
constexpr double kRegretted = 0.93;
constexpr double kRegretNs = 390e6;

}  // namespace

void KeptSavings::note(const TuningTrial& trial) {
  if (before_.empty()) before_ = trial.before();
  if (rate_ != 0) return;
  rate_ = trial.figures_before().rate;
  wait_share_ = trial.figures_before().wait_share;
  worse_ns_ = 0;
}

std::optional<KnobValues> KeptSavings::regretted(const TuningObservation& window,
                                                 std::uint64_t window_ns_min) {
  if (before_.empty() || before_.size() != window.knobs.size()) return std::nullopt;
  const RunningFigures now = figures_of(window);
  const bool costs = now.rate < kRegretted * rate_ || waits_longer(now.wait_share, wait_share_);
  worse_ns_ = costs ? worse_ns_ + static_cast<double>(window.window_ns) : 0;
  if (worse_ns_ < std::max(kRegretNs, static_cast<double>(window_ns_min))) return std::nullopt;
  return before_;
}

}  // namespace infeed::detail
