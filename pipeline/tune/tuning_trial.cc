#include "tune/tuning_trial.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace infeed::detail {
namespace {

// The gain that more threads must bring to be kept: a third of the predicted gain, but at least 2 %
// and at most 5 %. Beside other processes rates differ by a sixth from one third of a second to the
// next, so it must be a tenth.
constexpr double kGrowthKept = 1.02;
constexpr double kGrowthForetold = 1.0 / 3;
constexpr double kGrowthEnough = 1.05;
constexpr double kGrowthKeptAmongOthers = 1.1;
// The noise of the rate of a consumer that is as quick as before.
constexpr double kSavingKept = 0.97;
// Below these a trial is given up before its time. Between this and what is kept it is watched for
// longer.
constexpr double kSavingLost = 0.9;
constexpr double kGrowthLost = 0.97;
constexpr double kLostAmongOthers = 0.8;
constexpr double kClearlyLost = 0.8;
// Waits of a consumer that was fed are compared in hundredths of its time; others vary with the
// rate.
constexpr double kWaitsLonger = 0.01;
constexpr double kWaitsVary = 0.05;
constexpr double kWaitsMuchLonger = 0.05;
constexpr double kSettleNs = 150e6;
constexpr double kSoonNs = 190e6;
constexpr double kTrialNs = 300e6;
constexpr double kLongTrialNs = 900e6;
constexpr double kTrialAmongOthersNs = 1500e6;
constexpr double kLongestTrialNs = 15e9;
constexpr double kTrialElements = 20;
// One process that comes or goes shouldn't cost a short run its only trial; many that do all the
// time shouldn't have one after the other.
constexpr std::uint64_t kShortRestNs = 500'000'000;
constexpr std::uint64_t kRestNs = 5'000'000'000;
constexpr std::uint64_t kRestNsMax = 40'000'000'000;
// Rates with and without so many cores of others can't be compared. Others that want all they can
// get have more or less of the cores by the number of our own threads.
constexpr double kOthersDiffer = 0.25;
constexpr double kBusyOthersDiffer = 0.5;
constexpr double kBusyOthers = 0.3;

}  // namespace

RunningFigures figures_of(const TuningObservation& window) {
  const auto ns = static_cast<double>(std::max<std::uint64_t>(1, window.window_ns));
  return {.rate = static_cast<double>(window.elements) * 1e9 / ns,
          .wait_share = std::min(1.0, static_cast<double>(window.consumer_wait_ns) / ns),
          .cores_of_others = window.cores_of_others};
}

bool are_alike(double others, double others_before) {
  const bool are_busy = std::min(others, others_before) > kBusyOthers;
  return std::abs(others - others_before) <= (are_busy ? kBusyOthersDiffer : kOthersDiffer);
}

void ForecastError::note(double predicted, double measured) {
  if (measured <= 0) return;
  last_[at_++ % last_.size()] = std::abs(predicted / measured - 1);
}

double ForecastError::share() const {
  constexpr double kLeast = 0.1;
  constexpr double kMost = 0.5;
  return std::clamp(*std::max_element(last_.begin(), last_.end()), kLeast, kMost);
}

void TrialRest::begin(std::uint64_t at_ns) {
  rest_ns_ = std::clamp(2 * rest_ns_, kShortRestNs, kRestNs);
  until_ns_ = at_ns + rest_ns_;
  begin_for_savings(at_ns);
}

void TrialRest::begin_for_savings(std::uint64_t at_ns) {
  savings_ns_ = std::clamp(2 * savings_ns_, kRestNs, kRestNsMax);
  savings_until_ns_ = at_ns + savings_ns_;
}

bool waits_longer(double wait_share, double wait_share_before) {
  return wait_share > wait_share_before + kWaitsLonger + kWaitsVary * wait_share_before;
}

TuningTrial::TuningTrial(Kind kind, TuningChange change, const TuningObservation& seen,
                         KnobValues after, const RunningFigures& before, double elements_min)
    : kind_(kind),
      change_(std::move(change)),
      before_(values_of(seen)),
      after_(std::move(after)),
      figures_before_(before),
      is_among_others_(others_want_cores(seen)),
      settled_at_ns_(static_cast<double>(seen.at_ns) + kSettleNs),
      elements_min_(kTrialElements + elements_min) {
  change_.at_seconds = static_cast<double>(seen.at_ns) / 1e9;
  change_.rate_before = before.rate;
  for (std::size_t i = 0; i < after_.size(); ++i) {
    if (after_[i] == before_[i]) continue;
    change_.knobs.push_back(
        {label_of(seen, seen.knobs[i]), seen.knobs[i].kind, before_[i], after_[i]});
  }
}

/// Returns the share of the rate before the trial that it must reach.
double TuningTrial::least_kept(double phase_rate) const {
  const double before = std::max(1e-9, figures_before_.rate);
  if (saves()) return kSavingKept * std::max(1.0, 0.98 * phase_rate / before);
  if (is_among_others_) return kGrowthKeptAmongOthers;
  const double foretold = change_.rate_predicted / before - 1;
  return std::clamp(1 + kGrowthForetold * foretold, kGrowthKept, kGrowthEnough);
}

/// True if it costs so much that it is undone before its time.
bool TuningTrial::is_clearly_worse(double ratio, double wait_share) const {
  if (saves()) {
    return ratio < kSavingLost || wait_share > figures_before_.wait_share + kWaitsMuchLonger;
  }
  return ratio < kClearlyLost;
}

TuningTrial::Verdict TuningTrial::judge(const TuningObservation& seen, double phase_rate,
                                        std::uint64_t window_ns_min) {
  const auto begin_ns = static_cast<double>(seen.at_ns - std::min(seen.at_ns, seen.window_ns));
  if (begin_ns < settled_at_ns_) return Verdict::under_way;
  const auto window_ns = static_cast<double>(seen.window_ns);
  ns_ += window_ns;
  elements_ += static_cast<double>(seen.elements);
  wait_ns_ += static_cast<double>(std::min(seen.consumer_wait_ns, seen.window_ns));
  others_ns_ += seen.cores_of_others * window_ns;
  const double before = std::max(1e-9, figures_before_.rate);
  change_.rate_after = elements_ * 1e9 / ns_;
  const double ratio = change_.rate_after / before;
  const double wait_share = wait_ns_ / ns_;
  const double trial_ns = std::max(is_among_others_ ? kTrialAmongOthersNs : kTrialNs,
                                   static_cast<double>(window_ns_min));
  const bool is_seen = ns_ >= trial_ns && elements_ >= elements_min_;
  const bool is_over = is_seen || ns_ >= kLongestTrialNs;
  if (kind_ == Kind::undoing) return is_over ? Verdict::kept : Verdict::under_way;
  const bool is_comparable = are_alike(others_ns_ / ns_, figures_before_.cores_of_others);
  const Verdict worse = is_comparable ? Verdict::rolled_back : Verdict::not_comparable;
  const bool is_soon = ns_ >= kSoonNs && elements_ + before * ns_ / 1e9 >= 2 * kTrialElements;
  if (is_soon && window_ns_min == 0 && is_clearly_worse(ratio, wait_share)) return worse;
  if (!is_over) return Verdict::under_way;
  if (!is_comparable) return Verdict::not_comparable;
  if (saves() && waits_longer(wait_share, figures_before_.wait_share)) return Verdict::rolled_back;
  const double needed = least_kept(phase_rate);
  if (ratio >= needed) return Verdict::kept;
  const double lost = is_among_others_ ? kLostAmongOthers : saves() ? kSavingLost : kGrowthLost;
  if (ratio > lost && ns_ < std::max(kLongTrialNs, 2 * trial_ns)) return Verdict::under_way;
  return Verdict::rolled_back;
}

}  // namespace infeed::detail
