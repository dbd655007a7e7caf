#include "tune/tuner.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <utility>

#include "tune/tuning_windows.h"

namespace infeed::detail {
namespace {

// The gain that a change has to bring.
// More threads must bring so much to be kept, or if that is more, a third of what was foretold, of
// which 5 % is enough.
constexpr double kGrowthKept = 1.02;
constexpr double kGrowthForetold = 1.0 / 3;
constexpr double kGrowthEnough = 1.05;
constexpr double kSavingKept = 0.97;
// The most that it may cost by the model, which doesn't know how the kernel shares cores.
constexpr double kSavingForetold = 0.98;
constexpr double kSavingForetoldAmongOthers = 0.9;
// Less of the workers is not worth the risk of a try: 16 calls in flight that needed 4.6 were given back
// in four steps, the last of which left too few for a burst of the consumer's.
constexpr double kSavingWorth = 0.2;
// Below this a saving is taken back at once; between the two it is looked at longer.
constexpr double kSavingLost = 0.9;
constexpr double kSettleNs = 150e6;
constexpr double kTrialNs = 300e6;
constexpr double kLongTrialNs = 900e6;
// Where others want the cores, rates differ by a sixth from one third of a second to the next, and what
// was the best for a while says little.
constexpr double kTrialAmongOthersNs = 1500e6;
constexpr double kSavingKeptAmongOthers = 0.9;
constexpr double kSavingLostAmongOthers = 0.8;
constexpr double kRegrettedAmongOthers = 0.75;
constexpr double kTrialElements = 20;
constexpr int kSavingWindows = 3;
constexpr int kSerialWindows = 2;
constexpr double kCoresDiffer = 0.4;
// In the same phase, what a saving may turn out to cost.
constexpr double kRegretted = 0.93;
constexpr int kRegretWindows = 3;
constexpr int kRegretWindowsAmongOthers = 8;
constexpr double kLongestTrialNs = 15e9;
// A consumer that takes nothing for so long, and for so many of its usual intervals, pauses.
constexpr double kPauseNs = 500e6;
constexpr double kPauseElements = 5;
// Phases that follow each other so quickly are bursts; after one that lasted so long there are none.
constexpr std::uint64_t kShortPhaseNs = 3'000'000'000;
constexpr std::uint64_t kShortPhaseWindows = 6;
constexpr std::uint64_t kLongPhaseNs = 20'000'000'000;
constexpr std::uint64_t kBurstyWindowNsMin = 400'000'000;
constexpr std::uint64_t kBurstyWindowNsMax = 3'200'000'000;

}  // namespace

TuningDecision Tuner::observe(const TuningObservation& window) {
  TuningDecision decision;
  if (!std::exchange(has_begun_, true) && start_from_profile(window, decision)) return decision;
  note_cores(window, decision);
  note_memory(window, decision);
  if (is_quiet(window)) {
    note_quiet(window);
    return decision;
  }
  const TuningObservation seen = with_quiet(window);
  if (trial_) {
    judge(seen, decision);
    return decision;
  }
  if (!accumulate(seen)) return decision;
  const bool is_other = windows_ >= 2 && is_another_phase(last_);
  other_windows_ = is_other ? other_windows_ + 1 : 0;
  if (other_windows_ == 1) return decision;  // maybe just an odd one
  if (other_windows_ > 1) {
    decision.notes.push_back("the work has changed: what was learnt before is forgotten");
    begin_phase();
    note_length_of_phase();
  }
  model_.add(last_);
  note_bursts(last_);
  if (phase_rate_ == 0) phase_rate_ = model_.measured_rate();
  ++windows_;
  if (checks_profile(last_, decision)) return decision;
  if (place_cache(last_, decision)) return decision;
  decide(last_, decision);
  decision.verdict = verdict(last_);
  if (!trial_) decision.profile = profile_text(last_);
  return decision;
}

void Tuner::note_quiet(const TuningObservation& window) {
  if (quiet_.window_ns == 0) {
    quiet_ = window;
  } else {
    add_up(quiet_, window);
  }
}

/// A consumer that took nothing for a while was busy with its element, or it did something else (an
/// evaluation, a checkpoint), from which nothing is to be learnt.
TuningObservation Tuner::with_quiet(const TuningObservation& window) {
  const TuningObservation quiet = std::exchange(quiet_, {});
  const double rate = model_.measured_rate();
  const double usual_ns = std::max(kPauseNs, rate == 0 ? 1e18 : kPauseElements * 1e9 / rate);
  if (quiet.window_ns == 0 || static_cast<double>(quiet.window_ns) > usual_ns) return window;
  TuningObservation both = quiet;
  add_up(both, window);
  return both;
}

/// True when there is a whole window, last_.
bool Tuner::accumulate(const TuningObservation& seen) {
  if (window_.window_ns == 0) {
    window_ = seen;
  } else {
    add_up(window_, seen);
  }
  if (!is_whole(window_) || window_.window_ns < window_ns_min_) return false;
  last_ = std::move(window_);
  window_ = {};
  return true;
}

/// Forgets what was measured before: it says nothing about what comes.
void Tuner::begin_phase() {
  model_.forget();
  failed_.clear();
  bursts_.clear();
  last_saving_.reset();
  windows_ = other_windows_ = 0;
  phase_rate_ = 0;
  window_ = {};
}

/// Work that comes in bursts looks like one phase after the other, and each trial like a loss or a
/// gain: it is looked at in windows that hold several bursts. (With stalls of 200 ms every 600 ms,
/// windows of 200 ms made ten phases in 20 s, and a useless change in two of them.)
void Tuner::note_length_of_phase() {
  const std::uint64_t now_ns = last_.at_ns;
  const auto began_ns = std::exchange(phase_began_ns_, now_ns);
  if (!began_ns) return;  // the first one has its beginning, too
  if (now_ns - *began_ns < std::max(kShortPhaseNs, kShortPhaseWindows * window_ns_min_)) {
    window_ns_min_ = std::clamp(2 * window_ns_min_, kBurstyWindowNsMin, kBurstyWindowNsMax);
  } else if (now_ns - *began_ns > kLongPhaseNs) {
    window_ns_min_ = 0;
  }
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

/// When others take cores or give them back, what was no better before may be so now.
void Tuner::note_cores_left(const TuningObservation& window) {
  const double left = cores_for(window);
  if (std::abs(left - cores_left_) < kCoresDiffer) return;
  cores_left_ = left;
  failed_.clear();
  last_saving_.reset();
  phase_rate_ = model_.measured_rate();
}

bool Tuner::is_another_phase(const TuningObservation& window) const {
  if (window.elements == 0) return false;
  const auto differs = [&](double now_ns, double before_ns) {
    return now_ns > 1.6 * before_ns || now_ns < 0.6 * before_ns;
  };
  // Only what matters: a tenth of the time between two elements.
  const double matters_ns = 0.1 * 1e9 / std::max(1e-9, model_.measured_rate());
  for (std::size_t i = 0; i < window.stages.size(); ++i) {
    const StageObservation& stage = window.stages[i];
    const double before_ns = model_.stage_calls_ns(static_cast<int>(i));
    if (stage.elements == 0 || before_ns == 0) continue;
    const auto now_ns =
        static_cast<double>(stage.cpu_ns + stage.blocked_ns) / static_cast<double>(stage.elements);
    const double visits = model_.stage_ns(static_cast<int>(i)) / before_ns;
    if (visits * std::max(now_ns, before_ns) > matters_ns && differs(now_ns, before_ns)) {
      return true;
    }
  }
  return false;
}

/// The least that it must bring, as a share of the rate before it, and what it is given up for at once.
std::pair<double, double> Tuner::bounds_of(const Trial& trial, double growth) const {
  if (!trial.saves) return {growth, kSavingKept};
  if (trial.is_among_others) return {kSavingKeptAmongOthers, kSavingLostAmongOthers};
  const double best = 0.98 * phase_rate_;
  return {kSavingKept * std::max(1.0, best / std::max(1e-9, trial.change.rate_before)),
          kSavingLost};
}

void Tuner::judge(const TuningObservation& seen, TuningDecision& decision) {
  Trial& trial = *trial_;
  const auto begin_ns = static_cast<double>(seen.at_ns - std::min(seen.at_ns, seen.window_ns));
  if (begin_ns < trial.settled_at_ns) return;
  trial.ns += static_cast<double>(seen.window_ns);
  trial.elements += static_cast<double>(seen.elements);
  const double trial_ns = std::max(trial.is_among_others ? kTrialAmongOthersNs : kTrialNs,
                                   static_cast<double>(window_ns_min_));
  const bool is_seen = trial.ns >= trial_ns && trial.elements >= trial.elements_min;
  if (!is_seen && trial.ns < kLongestTrialNs) return;
  TuningChange& change = trial.change;
  change.rate_after = trial.elements * 1e9 / trial.ns;
  const double ratio = change.rate_after / std::max(1e-9, change.rate_before);
  const double foretold = change.rate_predicted / std::max(1e-9, change.rate_before) - 1;
  const double growth =
      std::max(kGrowthKept, std::min(kGrowthEnough, 1 + kGrowthForetold * foretold));
  const auto [needed, lost] = bounds_of(trial, growth);
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
  if (!is_kept) apply(seen, trial.before, decision);
  trial_.reset();
  model_.forget();
  bursts_.clear();
  windows_ = 0;
  saving_windows_ = 0;
  window_ = {};
}

void Tuner::decide(const TuningObservation& seen, TuningDecision& decision) {
  const Values now = values_of(seen);
  const double rate = model_.measured_rate();
  if (now.empty() || rate == 0) {
    decision.is_settled = true;
    return;
  }
  note_cores_left(seen);
  if (undo_regretted(seen, decision)) return;
  const Values fewest = fewest_workers(seen);
  const auto on_own_cores = with_own_cores(seen, fewest);
  const Values wanted = on_own_cores.value_or(fewest);
  const double modelled = model_.forecast(seen, now).rate;
  const auto best = model_.forecast(seen, wanted);
  // A setting that the model finds too slow may still keep up; nothing makes the consumer quicker.
  const double of_consumer = 1e9 / std::max(1e-3, model_.consumer_ns());
  const double predicted = std::min(rate * best.rate / modelled, std::max(rate, of_consumer));
  if (wanted != now && predicted >= kWorthAChange * rate && !has_failed(wanted)) {
    return begin(seen, wanted, predicted, /*saves=*/false, slowest_text(seen, now), decision);
  }
  const auto serial = serial_instead(seen);
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
                 slowest_text(seen, wanted), decision);
  }
  Values smaller = now;
  shrink_buffers(seen, smaller);
  if (smaller != now && !has_failed(smaller)) {
    return begin(seen, smaller, rate, /*saves=*/true, "so much was never used", decision);
  }
  decision.is_settled = !saves && windows_ > 10;
}

/// The last saving looked good while it was tried, and costs after all.
bool Tuner::undo_regretted(const TuningObservation& seen, TuningDecision& decision) {
  const double rate = model_.measured_rate();
  const double regretted = others_want_cores(seen) ? kRegrettedAmongOthers : kRegretted;
  const int windows_min = others_want_cores(seen) ? kRegretWindowsAmongOthers : kRegretWindows;
  if (!last_saving_ || windows_ < windows_min || rate > regretted * phase_rate_) return false;
  const Values before = *std::exchange(last_saving_, std::nullopt);
  failed_.push_back({values_of(seen), rate, /*saved=*/true});
  begin(seen, before, phase_rate_, /*saves=*/false, "the last saving costs after all", decision);
  return true;
}

void Tuner::begin(const TuningObservation& seen, const Values& values, double predicted, bool saves,
                  std::string why, TuningDecision& decision) {
  const Values now = values_of(seen);
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
  // Elements that were made before say nothing about what is made now.
  trial.elements_min = kTrialElements + (saves ? model_.elements_on_the_way(seen) : 0);
  if (only_advises_) {
    trial.change.outcome = TuningChange::Outcome::advised;
    failed_.push_back({values, 0, saves});  // to be said once
    decision.begun = std::move(trial.change);
    return;
  }
  decision.begun = trial.change;
  apply(seen, values, decision);
  trial_ = std::move(trial);
}

void Tuner::apply(const TuningObservation& seen, const Values& values,
                  TuningDecision& decision) const {
  for (std::size_t i = 0; i < values.size() && i < seen.knobs.size(); ++i) {
    if (values[i] != seen.knobs[i].value)
      decision.settings.push_back({seen.knobs[i].id, values[i]});
  }
}

}  // namespace infeed::detail
