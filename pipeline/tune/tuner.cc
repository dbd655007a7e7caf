#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "tune/cache_tuning.h"
#include "tune/kept_savings.h"
#include "tune/pipeline_model.h"
#include "tune/ready_memory.h"
#include "tune/tuning_profile.h"
#include "tune/tuning_search.h"
#include "tune/tuning_text.h"
#include "tune/tuning_trial.h"
#include "tune/tuning_windows.h"

namespace infeed {
namespace detail {
namespace {

// The share of the rate that a saving must keep by the model: it must cost nothing.
constexpr double kSavingForetold = 0.995;
// Giving back a smaller share of the workers isn't worth the risk: 16 calls in flight, of which 4.6
// were needed, were given back in four steps. The last step left too few for a burst of the
// consumer.
constexpr double kSavingWorth = 0.2;
// The gain that a change must promise while other processes want the cores: more than forecasts are
// off there. (One of +8 % was -52 %.)
constexpr double kWorthAChangeAmongOthers = 1.2;
constexpr int kSavingWindows = 3;
constexpr int kSerialWindows = 2;
constexpr double kCoresDiffer = 0.4;
constexpr double kOthersChange = 0.25;

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
  void save(const TuningObservation& seen, const KnobValues& fewest, double predicted,
            TuningDecision& decision);
  bool undo_regretted(const TuningObservation& window, TuningDecision& decision);
  bool has_failed(const KnobValues& values) const;
  double predicted_rate(const TuningObservation& seen, const KnobValues& values) const;
  void begin(const TuningObservation& seen, TuningTrial::Kind kind, const KnobValues& values,
             double predicted, std::string why, TuningDecision& decision);

  const bool only_advises_;
  TuningProfile profile_;
  TuningWindows windows_;
  ReadyMemory memory_;
  CacheTuning caches_;
  IdleBuffers buffers_;
  PipelineModel model_;  ///< costs in this phase
  double cores_ = 0;
  double cores_left_ = 0;                  ///< cores_for(), when it last changed much
  std::optional<double> cores_of_others_;  ///< in the last window
  double phase_rate_ = 0;                  ///< the rate that savings are compared with
  int other_windows_ = 0;                  ///< windows in a row that look like another phase
  int saving_windows_ = 0;                 ///< windows in a row that would do with less
  int serial_windows_ = 0;  ///< windows in a row in which one thread would be quicker
  TrialRest rest_;
  ForecastError error_;
  std::optional<TuningTrial> trial_;
  KeptSavings savings_;        ///< undone if they cost after all
  KnobValues first_;           ///< the user's, or the defaults
  std::vector<Known> failed_;  ///< settings that were no better
};

TuningDecision Tuner::observe(const TuningObservation& window) {
  TuningDecision decision;
  if (first_.empty()) first_ = values_of(window);
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
  if (!whole || undo_regretted(*whole, decision)) return decision;
  if (!learn(*whole, decision)) return decision;
  if (caches_.place(model_, *whole, decision)) {
    begin_phase();
    return decision;
  }
  decide(*whole, decision);
  decision.verdict =
      bound_text(model_, *whole) + turned_off_text(*whole, first_) + cache_text(model_, *whole);
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
  savings_.begin_phase();
  other_windows_ = 0;
  phase_rate_ = 0;
  windows_.drop();
}

void Tuner::note_cores(const TuningObservation& seen, TuningDecision& decision) {
  const double before = std::exchange(cores_, seen.cores);
  if (before == 0 || std::abs(before - seen.cores) < 0.1 * before) return;
  decision.notes.push_back(
      fmt::format("the process may use {:.3g} cores now ({:.3g} before)", seen.cores, before));
  if (trial_ && trial_->saves()) savings_.note(*trial_);  // nobody judges it, and it stays
  begin_phase();
  saving_windows_ = kSavingWindows;  // no need to wait: it is no accident
  if (!trial_) return;
  trial_->change().outcome = TuningChange::Outcome::overtaken;
  decision.finished.push_back(trial_->change());
  trial_.reset();
}

/// Forgets failed settings when others take cores or give them back: they may be better now.
void Tuner::note_cores_left(const TuningObservation& window) {
  const double left = cores_for(window);
  if (std::abs(left - cores_left_) < kCoresDiffer) return;
  cores_left_ = left;
  failed_.clear();
  phase_rate_ = model_.measured_rate();
}

void Tuner::judge(const TuningObservation& seen, TuningDecision& decision) {
  using Verdict = TuningTrial::Verdict;
  TuningTrial& trial = *trial_;
  const Verdict verdict = trial.judge(seen, phase_rate_, windows_.ns_min());
  if (verdict == Verdict::under_way) return;
  TuningChange& change = trial.change();
  const bool is_kept = verdict == Verdict::kept;
  if (verdict == Verdict::not_comparable) {
    change.rate_after = 0;
    rest_.begin(seen.at_ns);
  } else {
    if (!is_kept && trial.saves()) rest_.begin_for_savings(seen.at_ns);
    error_.note(change.rate_predicted, change.rate_after);
    failed_.push_back({is_kept ? trial.before() : trial.after(),
                       is_kept ? change.rate_before : change.rate_after,
                       trial.saves() && !is_kept});
  }
  if (is_kept && trial.saves()) savings_.note(trial);
  if (is_kept && !trial.saves()) {
    phase_rate_ = change.rate_after;
    savings_ = {};
  }
  change.outcome = is_kept ? TuningChange::Outcome::kept : TuningChange::Outcome::rolled_back;
  decision.finished.push_back(change);
  if (!is_kept) set_knobs(seen, trial.before(), decision);
  trial_.reset();
  model_.forget();
  saving_windows_ = 0;
  windows_.drop();
}

void Tuner::decide(const TuningObservation& seen, TuningDecision& decision) {
  using Kind = TuningTrial::Kind;
  const KnobValues now = values_of(seen);
  const double rate = model_.measured_rate();
  if (now.empty() || rate == 0) {
    decision.is_settled = true;
    return;
  }
  note_cores_left(seen);
  const double others = seen.cores_of_others;
  const double others_before = std::exchange(cores_of_others_, others).value_or(others);
  if (std::abs(others_before - others) > kOthersChange) return;  // they come or go
  if (rest_.lasts(seen.at_ns)) return;
  const bool has_company = others_want_cores(seen);
  const double worth = has_company ? kWorthAChangeAmongOthers : kWorthAChange;
  KnobValues wanted = fewest_workers(model_, seen, 1 + error_.share());
  for (std::size_t i = 0; has_company && i < now.size(); ++i)
    wanted[i] = std::max(wanted[i], now[i]);
  const double predicted = predicted_rate(seen, wanted);
  if (wanted != now && predicted >= worth * rate && !has_failed(wanted)) {
    return begin(seen, Kind::growth, wanted, predicted, slowest_text(model_, seen, now), decision);
  }
  const auto serial = serial_instead(model_, seen, worth);
  serial_windows_ = serial ? serial_windows_ + 1 : 0;
  if (serial_windows_ >= kSerialWindows && !has_failed(*serial)) {
    return begin(seen, Kind::growth, *serial, model_.serial_rate(seen),
                 "handing elements over costs more than it brings", decision);
  }
  // Threads that are given back take the process's share of the cores with them.
  if (has_company || rest_.lasts_for_savings(seen.at_ns)) {
    saving_windows_ = 0;
    decision.is_settled = !serial && model_.windows() > 10;
    return;
  }
  save(seen, wanted, predicted, decision);
}

/// Gives back what isn't needed, or begins to.
void Tuner::save(const TuningObservation& seen, const KnobValues& fewest, double predicted,
                 TuningDecision& decision) {
  using Kind = TuningTrial::Kind;
  const KnobValues now = values_of(seen);
  const double rate = model_.measured_rate();
  auto on_own_cores = with_own_cores(model_, seen, fewest);
  if (on_own_cores && has_failed(*on_own_cores)) on_own_cores.reset();
  const KnobValues& wanted = on_own_cores ? *on_own_cores : fewest;
  if (on_own_cores) predicted = predicted_rate(seen, wanted);
  const auto workers_now = static_cast<double>(workers_in(seen, now));
  const double given_back = workers_now - static_cast<double>(workers_in(seen, wanted));
  const double foretold = on_own_cores ? kSavingForetoldOnOwnCores : kSavingForetold;
  const bool saves = given_back > (on_own_cores ? 0 : kSavingWorth * workers_now) &&
                     predicted >= foretold * rate && !has_failed(wanted);
  saving_windows_ = saves ? saving_windows_ + 1 : 0;
  if (saving_windows_ >= kSavingWindows) {
    return begin(seen, Kind::saving, wanted, std::min(predicted, rate),
                 slowest_text(model_, seen, wanted), decision);
  }
  const KnobValues smaller = buffers_.shrunk(model_, seen);
  if (smaller != now && !has_failed(smaller)) {
    return begin(seen, Kind::saving, smaller, rate, "so much was never used", decision);
  }
  decision.is_settled = !saves && model_.windows() > 10;
}

/// Returns the rate with these values. No setting makes the consumer quicker, so its rate is the
/// bound, unless the measured rate is higher.
double Tuner::predicted_rate(const TuningObservation& seen, const KnobValues& values) const {
  const double rate = model_.measured_rate();
  const double modelled = model_.forecast(seen, values_of(seen)).rate;
  const double of_consumer = 1e9 / std::max(1e-3, model_.consumer_ns());
  return std::min(rate * model_.forecast(seen, values).rate / modelled,
                  std::max(rate, of_consumer));
}

/// True if `values` were tried in this phase and were no better than the present setting.
bool Tuner::has_failed(const KnobValues& values) const {
  const double now = model_.measured_rate();
  return std::any_of(failed_.begin(), failed_.end(), [&](const Known& known) {
    return known.values == values && (known.saved || known.rate <= 1.03 * now);
  });
}

/// Undoes what was given back if it costs after all. Looks at each window, since the consumer waits
/// meanwhile. Nothing has to be proved for that: the setting before is what the user wrote.
bool Tuner::undo_regretted(const TuningObservation& window, TuningDecision& decision) {
  const std::optional<KnobValues> before = savings_.regretted(window, windows_.ns_min());
  if (!before) return false;
  const double rate = figures_of(window).rate;
  failed_.push_back({values_of(window), rate, /*saved=*/true});
  rest_.begin_for_savings(window.at_ns);
  begin(window, TuningTrial::Kind::undoing, *before, std::max(savings_.rate(), rate),
        "what was given back costs after all", decision);
  savings_ = {};
  return true;
}

void Tuner::begin(const TuningObservation& seen, TuningTrial::Kind kind, const KnobValues& values,
                  double predicted, std::string why, TuningDecision& decision) {
  const bool saves = kind == TuningTrial::Kind::saving;
  TuningChange change;
  change.why = std::move(why);
  change.rate_predicted = predicted;
  const bool undoes = kind == TuningTrial::Kind::undoing;
  const RunningFigures before = undoes ? figures_of(seen)
                                       : RunningFigures{.rate = model_.measured_rate(),
                                                        .wait_share = model_.wait_share(),
                                                        .cores_of_others = seen.cores_of_others};
  // Elements that were made before the change say nothing about it.
  TuningTrial trial(kind, std::move(change), seen, values, before,
                    saves ? model_.elements_on_the_way(seen) : 0);
  if (only_advises_) {
    trial.change().outcome = TuningChange::Outcome::advised;
    failed_.push_back({values, 0, saves});  // advised only once
    decision.begun = std::move(trial.change());
    return;
  }
  decision.begun = trial.change();
  set_knobs(seen, values, decision);
  trial_ = std::move(trial);
}

}  // namespace
}  // namespace detail

std::shared_ptr<TuningPolicy> make_tuner(const std::string& profile, bool only_advises) {
  return std::make_shared<detail::Tuner>(profile, only_advises);
}

}  // namespace infeed
