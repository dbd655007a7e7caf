#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "tune/cache_tuning.h"
#include "tune/pipeline_model.h"
#include "tune/ready_memory.h"
#include "tune/tuning_profile.h"
#include "tune/tuning_search.h"
#include "tune/tuning_text.h"
#include "tune/tuning_windows.h"

namespace infeed {
namespace detail {
namespace {

// The gain that more threads must bring to be kept: a third of the predicted gain, but at least 2 %
// and at most 5 %.
constexpr double kGrowthKept = 1.02;
constexpr double kGrowthForetold = 1.0 / 3;
constexpr double kGrowthEnough = 1.05;
constexpr double kSavingKept = 0.97;
// The share of the rate that a saving must keep by the model, which doesn't know how the kernel
// shares cores.
constexpr double kSavingForetold = 0.98;
constexpr double kSavingForetoldAmongOthers = 0.9;
// Giving back a smaller share of the workers isn't worth the risk: 16 calls in flight, of which 4.6
// were needed, were given back in four steps. The last step left too few for a burst of the
// consumer.
constexpr double kSavingWorth = 0.2;
// Below this a saving is taken back at once. Between this and kSavingKept it is watched for longer.
constexpr double kSavingLost = 0.9;
constexpr double kSettleNs = 150e6;
constexpr double kTrialNs = 300e6;
constexpr double kLongTrialNs = 900e6;
// Limits while other processes want the cores. Rates then differ by a sixth from one third of a
// second to the next, and a good rate for a while says little.
constexpr double kTrialAmongOthersNs = 1500e6;
constexpr double kSavingKeptAmongOthers = 0.9;
constexpr double kSavingLostAmongOthers = 0.8;
constexpr double kRegrettedAmongOthers = 0.75;
constexpr double kTrialElements = 20;
constexpr int kSavingWindows = 3;
constexpr int kSerialWindows = 2;
constexpr double kCoresDiffer = 0.4;
// A saving is undone if the rate falls below this share later in the same phase.
constexpr double kRegretted = 0.93;
constexpr int kRegretWindows = 3;
constexpr int kRegretWindowsAmongOthers = 8;
constexpr double kLongestTrialNs = 15e9;

/// True if a stage takes much longer or much less time for an element than before.
bool is_another_phase(const PipelineModel& model, const TuningObservation& window) {
  if (window.elements == 0) return false;
  const auto differs = [&](double now_ns, double before_ns) {
    return now_ns > 1.6 * before_ns || now_ns < 0.6 * before_ns;
  };
  // Only stages matter that take a tenth of the time between two elements.
  const double matters_ns = 0.1 * 1e9 / std::max(1e-9, model.measured_rate());
  for (std::size_t i = 0; i < window.stages.size(); ++i) {
    const StageObservation& stage = window.stages[i];
    const double before_ns = model.stage_calls_ns(static_cast<int>(i));
    if (stage.elements == 0 || before_ns == 0) continue;
    const auto now_ns =
        static_cast<double>(stage.cpu_ns + stage.blocked_ns) / static_cast<double>(stage.elements);
    const double visits = model.stage_ns(static_cast<int>(i)) / before_ns;
    if (visits * std::max(now_ns, before_ns) > matters_ns && differs(now_ns, before_ns)) {
      return true;
    }
  }
  return false;
}

/// A setting that was tried.
struct Known {
  KnobValues values;
  double rate;
  bool saved;  ///< it was a saving: not worth another try
};

struct Trial {
  TuningChange change;
  KnobValues before;
  KnobValues after;
  bool saves = false;            ///< it gives threads or memory back
  bool is_among_others = false;  ///< others_want_cores()
  double settled_at_ns = 0;
  double ns = 0;
  double elements = 0;
  double elements_min = 0;  ///< needed to judge it
};

/// Returns two shares of the rate before the trial: the least that it must bring, and the bound
/// below which it is given up at once.
std::pair<double, double> bounds_of(const Trial& trial, double phase_rate) {
  const double before = std::max(1e-9, trial.change.rate_before);
  if (!trial.saves) {
    const double foretold = trial.change.rate_predicted / before - 1;
    return {std::clamp(1 + kGrowthForetold * foretold, kGrowthKept, kGrowthEnough), kSavingKept};
  }
  if (trial.is_among_others) return {kSavingKeptAmongOthers, kSavingLostAmongOthers};
  return {kSavingKept * std::max(1.0, 0.98 * phase_rate / before), kSavingLost};
}

/// The policy that `autotune` stands for.
///
/// Objective: the highest rate at the consumer, and at that rate the fewest workers and the least
/// memory. All workers are decided together: the model gives the best possible rate, and then the
/// fewest workers of each stage that reach it. A change is a trial: the rates measured before and
/// after it decide whether it stays. A setting that failed isn't tried again until the work
/// changes.
class Tuner final : public TuningPolicy {
 public:
  Tuner(const std::string& profile, bool only_advises)
      : only_advises_(only_advises), profile_(profile), caches_(only_advises) {}

  TuningDecision observe(const TuningObservation& window) override;

 private:
  void begin_phase();
  void note_cores(const TuningObservation& seen, TuningDecision& decision);
  void note_cores_left(const TuningObservation& window);
  bool learn(const TuningObservation& window, TuningDecision& decision);
  void judge(const TuningObservation& seen, TuningDecision& decision);
  void decide(const TuningObservation& seen, TuningDecision& decision);
  bool undo_regretted(const TuningObservation& seen, TuningDecision& decision);
  bool has_failed(const KnobValues& values) const;
  void begin(const TuningObservation& seen, const KnobValues& values, double predicted, bool saves,
             std::string why, TuningDecision& decision);

  const bool only_advises_;
  TuningProfile profile_;
  TuningWindows windows_;
  ReadyMemory memory_;
  CacheTuning caches_;
  IdleBuffers buffers_;
  PipelineModel model_;  ///< costs in this phase
  double cores_ = 0;
  double cores_left_ = 0;   ///< cores_for(), when it last changed much
  double phase_rate_ = 0;   ///< the rate that savings are compared with
  int other_windows_ = 0;   ///< windows in a row that look like another phase
  int saving_windows_ = 0;  ///< windows in a row that would do with less
  int serial_windows_ = 0;  ///< windows in a row in which one thread would be quicker
  std::optional<Trial> trial_;
  std::optional<KnobValues> last_saving_;  ///< the setting before it
  std::vector<Known> failed_;              ///< settings that were no better
};

TuningDecision Tuner::observe(const TuningObservation& window) {
  TuningDecision decision;
  if (profile_.begin(window, decision)) return decision;
  note_cores(window, decision);
  if (memory_.look(window, decision)) begin_phase();
  const auto seen = windows_.behind_quiet(window, model_.measured_rate());
  if (!seen) return decision;
  if (trial_) {
    judge(*seen, decision);
    return decision;
  }
  const auto whole = windows_.whole(*seen);
  if (!whole || !learn(*whole, decision)) return decision;
  if (caches_.place(model_, *whole, decision)) {
    begin_phase();
    return decision;
  }
  decide(*whole, decision);
  decision.verdict = bound_text(model_, *whole) + cache_text(model_, *whole);
  if (!trial_) decision.profile = profile_text(model_, *whole);
  return decision;
}

/// Adds the window to the model. False if nothing can be decided by it.
bool Tuner::learn(const TuningObservation& window, TuningDecision& decision) {
  const bool is_other = model_.windows() >= 2 && is_another_phase(model_, window);
  other_windows_ = is_other ? other_windows_ + 1 : 0;
  if (other_windows_ == 1) return false;  // maybe just an odd one
  if (other_windows_ > 1) {
    decision.notes.push_back("the work has changed: what was learnt before is forgotten");
    begin_phase();
    windows_.note_phase(window.at_ns);
  }
  model_.add(window);
  if (phase_rate_ == 0) phase_rate_ = model_.measured_rate();
  const auto checked = profile_.check(model_, window, decision);
  if (checked == TuningProfile::Check::stale) begin_phase();
  return checked == TuningProfile::Check::done;
}

/// Forgets what was measured before: it says nothing about what comes.
void Tuner::begin_phase() {
  model_.forget();
  failed_.clear();
  last_saving_.reset();
  other_windows_ = 0;
  phase_rate_ = 0;
  windows_.drop();
}

void Tuner::note_cores(const TuningObservation& seen, TuningDecision& decision) {
  const double before = std::exchange(cores_, seen.cores);
  if (before == 0 || std::abs(before - seen.cores) < 0.1 * before) return;
  decision.notes.push_back(
      fmt::format("the process may use {:.3g} cores now ({:.3g} before)", seen.cores, before));
  begin_phase();
  saving_windows_ = kSavingWindows;  // no need to wait: it is no accident
  if (!trial_) return;
  trial_->change.outcome = TuningChange::Outcome::overtaken;
  decision.finished.push_back(trial_->change);
  trial_.reset();
}

/// Forgets failed settings when others take cores or give them back: they may be better now.
void Tuner::note_cores_left(const TuningObservation& window) {
  const double left = cores_for(window);
  if (std::abs(left - cores_left_) < kCoresDiffer) return;
  cores_left_ = left;
  failed_.clear();
  last_saving_.reset();
  phase_rate_ = model_.measured_rate();
}

void Tuner::judge(const TuningObservation& seen, TuningDecision& decision) {
  Trial& trial = *trial_;
  const auto begin_ns = static_cast<double>(seen.at_ns - std::min(seen.at_ns, seen.window_ns));
  if (begin_ns < trial.settled_at_ns) return;
  trial.ns += static_cast<double>(seen.window_ns);
  trial.elements += static_cast<double>(seen.elements);
  const double trial_ns = std::max(trial.is_among_others ? kTrialAmongOthersNs : kTrialNs,
                                   static_cast<double>(windows_.ns_min()));
  const bool is_seen = trial.ns >= trial_ns && trial.elements >= trial.elements_min;
  if (!is_seen && trial.ns < kLongestTrialNs) return;
  TuningChange& change = trial.change;
  change.rate_after = trial.elements * 1e9 / trial.ns;
  const double ratio = change.rate_after / std::max(1e-9, change.rate_before);
  const auto [needed, lost] = bounds_of(trial, phase_rate_);
  if (ratio < needed && ratio > lost && trial.ns < std::max(kLongTrialNs, 2 * trial_ns)) {
    return;  // too close to tell
  }
  const bool is_kept = ratio >= needed;
  if (is_kept && !trial.saves) phase_rate_ = change.rate_after;
  if (is_kept) last_saving_ = trial.saves ? std::optional(trial.before) : std::nullopt;
  change.outcome = is_kept ? TuningChange::Outcome::kept : TuningChange::Outcome::rolled_back;
  decision.finished.push_back(change);
  failed_.push_back({is_kept ? trial.before : trial.after,
                     is_kept ? change.rate_before : change.rate_after, trial.saves && !is_kept});
  if (!is_kept) set_knobs(seen, trial.before, decision);
  trial_.reset();
  model_.forget();
  saving_windows_ = 0;
  windows_.drop();
}

void Tuner::decide(const TuningObservation& seen, TuningDecision& decision) {
  const KnobValues now = values_of(seen);
  const double rate = model_.measured_rate();
  if (now.empty() || rate == 0) {
    decision.is_settled = true;
    return;
  }
  note_cores_left(seen);
  if (undo_regretted(seen, decision)) return;
  const KnobValues fewest = fewest_workers(model_, seen);
  auto on_own_cores = with_own_cores(model_, seen, fewest);
  if (on_own_cores && has_failed(*on_own_cores)) on_own_cores.reset();
  const KnobValues wanted = on_own_cores.value_or(fewest);
  const double modelled = model_.forecast(seen, now).rate;
  const auto best = model_.forecast(seen, wanted);
  // No setting makes the consumer quicker, so its rate bounds the prediction, unless the measured
  // rate is higher.
  const double of_consumer = 1e9 / std::max(1e-3, model_.consumer_ns());
  const double predicted = std::min(rate * best.rate / modelled, std::max(rate, of_consumer));
  if (wanted != now && predicted >= kWorthAChange * rate && !has_failed(wanted)) {
    return begin(seen, wanted, predicted, /*saves=*/false, slowest_text(model_, seen, now),
                 decision);
  }
  const auto serial = serial_instead(model_, seen);
  serial_windows_ = serial ? serial_windows_ + 1 : 0;
  if (serial_windows_ >= kSerialWindows && !has_failed(*serial)) {
    const double serial_rate = model_.serial_rate(seen);
    return begin(seen, *serial, serial_rate, /*saves=*/others_want_cores(seen),
                 "handing elements over costs more than it brings", decision);
  }
  const double foretold = on_own_cores              ? kSavingForetoldOnOwnCores
                          : others_want_cores(seen) ? kSavingForetoldAmongOthers
                                                    : kSavingForetold;
  const auto workers_now = static_cast<double>(workers_in(seen, now));
  const double given_back = workers_now - static_cast<double>(workers_in(seen, wanted));
  const bool saves = given_back > (on_own_cores ? 0 : kSavingWorth * workers_now) &&
                     predicted >= foretold * rate && !has_failed(wanted);
  saving_windows_ = saves ? saving_windows_ + 1 : 0;
  if (saving_windows_ >= kSavingWindows) {
    return begin(seen, wanted, std::min(predicted, rate), /*saves=*/true,
                 slowest_text(model_, seen, wanted), decision);
  }
  const KnobValues smaller = buffers_.shrunk(model_, seen);
  if (smaller != now && !has_failed(smaller)) {
    return begin(seen, smaller, rate, /*saves=*/true, "so much was never used", decision);
  }
  decision.is_settled = !saves && model_.windows() > 10;
}

/// True if `values` were tried in this phase and were no better than the present setting.
bool Tuner::has_failed(const KnobValues& values) const {
  const double now = model_.measured_rate();
  return std::any_of(failed_.begin(), failed_.end(), [&](const Known& known) {
    return known.values == values && (known.saved || known.rate <= 1.03 * now);
  });
}

/// Undoes the last saving if it looked good on trial and costs after all.
bool Tuner::undo_regretted(const TuningObservation& seen, TuningDecision& decision) {
  const double rate = model_.measured_rate();
  const double regretted = others_want_cores(seen) ? kRegrettedAmongOthers : kRegretted;
  const int windows_min = others_want_cores(seen) ? kRegretWindowsAmongOthers : kRegretWindows;
  if (!last_saving_ || model_.windows() < windows_min || rate > regretted * phase_rate_)
    return false;
  const KnobValues before = *std::exchange(last_saving_, std::nullopt);
  failed_.push_back({values_of(seen), rate, /*saved=*/true});
  begin(seen, before, phase_rate_, /*saves=*/false, "the last saving costs after all", decision);
  return true;
}

void Tuner::begin(const TuningObservation& seen, const KnobValues& values, double predicted,
                  bool saves, std::string why, TuningDecision& decision) {
  const KnobValues now = values_of(seen);
  Trial trial;
  trial.change.at_seconds = static_cast<double>(seen.at_ns) / 1e9;
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (values[i] == now[i]) continue;
    trial.change.knobs.push_back(
        {label_of(seen, seen.knobs[i]), seen.knobs[i].kind, now[i], values[i]});
  }
  trial.change.why = std::move(why);
  trial.change.rate_before = model_.measured_rate();
  trial.change.rate_predicted = predicted;
  trial.before = now;
  trial.after = values;
  trial.saves = saves;
  trial.is_among_others = others_want_cores(seen);
  trial.settled_at_ns = static_cast<double>(seen.at_ns) + kSettleNs;
  // Elements that were made before the change say nothing about it.
  trial.elements_min = kTrialElements + (saves ? model_.elements_on_the_way(seen) : 0);
  if (only_advises_) {
    trial.change.outcome = TuningChange::Outcome::advised;
    failed_.push_back({values, 0, saves});  // advised only once
    decision.begun = std::move(trial.change);
    return;
  }
  decision.begun = trial.change;
  set_knobs(seen, values, decision);
  trial_ = std::move(trial);
}

}  // namespace
}  // namespace detail

std::shared_ptr<TuningPolicy> make_tuner(const std::string& profile, bool only_advises) {
  return std::make_shared<detail::Tuner>(profile, only_advises);
}

}  // namespace infeed
