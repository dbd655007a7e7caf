#include "tune/tried_settings.h"

#include <algorithm>
#include <deque>
#include <fmt/format.h>
#include <string>
#include <utility>

#include "tune/cache_tuning.h"
#include "tune/pipeline_model.h"
#include "tune/tuning_trial.h"

namespace infeed::detail {
namespace {

// The tuner's time to settle, before the first try.
constexpr double kTunerNs = 10e9;
constexpr double kSettingSettlesNs = 300e6;
// The longest time in which elements from before a change are used up.
constexpr double kUseUpNs = 3e9;
constexpr double kMeasureNs = 1e9;
constexpr double kMeasureElements = 30;
constexpr double kMeasureNsMax = 15e9;
// The longest time for the pass that fills a cache.
constexpr double kFillNs = 120e9;

/// A value to try.
struct Candidate {
  std::uint64_t knob;
  std::int64_t value;
};

/// Lists caches last: what they keep is read until the pass ends.
std::deque<Candidate> candidates_of(const TuningObservation& seen) {
  std::deque<Candidate> list;
  const auto add = [&](const KnobState& knob, std::int64_t value) {
    value = std::clamp(value, knob.min, knob.max);
    if (value != knob.value) list.push_back({knob.id, value});
  };
  for (const KnobState& knob : seen.knobs) {
    if (knob.kind == KnobKind::depth) add(knob, 4 * knob.value);
    if (knob.kind != KnobKind::workers) continue;
    add(knob, std::max<std::int64_t>(1, 2 * knob.value));
    if (knob.value >= 2) add(knob, knob.value / 2);
  }
  for (const KnobState& knob : seen.knobs) {
    if (knob.kind == KnobKind::cache && knob.value == 0) add(knob, 1);
  }
  return list;
}

class TriedSettings final : public TuningPolicy {
 public:
  explicit TriedSettings(std::shared_ptr<TuningPolicy> tuner) : tuner_(std::move(tuner)) {}

  TuningDecision observe(const TuningObservation& seen) override {
    if (phase_ == Phase::over) return tuner_->observe(seen);
    if (phase_ == Phase::tuning) return tune(seen);
    TuningDecision decision;
    const bool is_quiet = seen.elements == 0 && 2 * seen.consumer_wait_ns < seen.window_ns;
    if (!is_quiet) measure(seen, decision);
    return decision;
  }

 private:
  enum class Phase { tuning, before, with, after, over };

  /// Lets the tuner work until it has settled.
  TuningDecision tune(const TuningObservation& seen) {
    TuningDecision decision = tuner_->observe(seen);
    model_.add(seen);
    tuner_tries_ = decision.begun.has_value() || (tuner_tries_ && decision.finished.empty());
    const bool has_settled = decision.is_settled || static_cast<double>(seen.at_ns) > kTunerNs;
    if (!has_settled || tuner_tries_ || !decision.settings.empty()) return decision;
    decision.is_settled = false;
    candidates_ = candidates_of(seen);
    if (candidates_.empty()) {
      decision.notes.push_back(
          "INFEED_TRY: there is nothing to try, as no stage leaves a setting to the tuner");
    }
    begin_phase(candidates_.empty() ? Phase::over : Phase::before, seen);
    return decision;
  }

  void begin_phase(Phase phase, const TuningObservation& seen) {
    phase_ = phase;
    began_ns_ = static_cast<double>(seen.at_ns);
    ns_ = elements_ = others_ns_ = skipped_ = 0;
  }

  void measure(const TuningObservation& seen, TuningDecision& decision) {
    const KnobState* const knob = find_knob(seen, candidates_.front().knob);
    if (knob == nullptr) return give_up(seen, decision);
    if (phase_ == Phase::before) model_.add(seen);
    if (!is_settled(seen, *knob, decision)) return;
    ns_ += static_cast<double>(seen.window_ns);
    elements_ += static_cast<double>(seen.elements);
    others_ns_ += seen.cores_of_others * static_cast<double>(seen.window_ns);
    const bool is_enough = ns_ >= kMeasureNs && elements_ >= kMeasureElements;
    if (!is_enough && ns_ < kMeasureNsMax) return;
    const RunningFigures figures{.rate = elements_ * 1e9 / ns_,
                                 .cores_of_others = others_ns_ / ns_};
    if (phase_ == Phase::before) {
      before_ = figures;
      begin_try(seen, *knob, decision);
    } else if (phase_ == Phase::with) {
      with_ = figures;
      put_back(seen, *knob, decision);
    } else {
      judge(figures, decision);
      before_ = figures;
      end_try(seen, decision);
    }
  }

  /// True once the setting shows in what the consumer takes.
  bool is_settled(const TuningObservation& seen, const KnobState& knob, TuningDecision& decision) {
    const double since_ns = static_cast<double>(seen.at_ns) - began_ns_;
    skipped_ += static_cast<double>(seen.elements);
    if (knob.kind == KnobKind::cache && phase_ == Phase::with) {
      if (since_ns < kFillNs && knob.max != 0 && !is_read_from_memory(seen, knob.stage)) {
        // A setting that came between two passes was lost.
        if (knob.value == 0) decision.settings.push_back({knob.id, 1});
        return false;
      }
    }
    if (since_ns - static_cast<double>(seen.window_ns) < kSettingSettlesNs) return false;
    return ns_ > 0 || since_ns > kUseUpNs || skipped_ >= model_.elements_on_the_way(seen);
  }

  void begin_try(const TuningObservation& seen, const KnobState& knob, TuningDecision& decision) {
    const std::int64_t value = candidates_.front().value;
    change_ = {};
    change_.at_seconds = static_cast<double>(seen.at_ns) / 1e9;
    change_.knobs = {{label_of(seen, knob), knob.kind, knob.value, value}};
    change_.why = "a try";
    change_.rate_before = before_.rate;
    change_.rate_predicted = predicted_rate(seen, knob, value);
    value_before_ = knob.value;
    decision.begun = change_;
    decision.settings.push_back({knob.id, value});
    begin_phase(Phase::with, seen);
  }

  double predicted_rate(const TuningObservation& seen, const KnobState& knob,
                        std::int64_t value) const {
    const KnobValues now = values_of(seen);
    const double modelled = model_.forecast(seen, now).rate;
    if (modelled <= 0) return before_.rate;
    KnobValues values = now;
    values[static_cast<std::size_t>(&knob - seen.knobs.data())] = value;
    const double rate = knob.kind == KnobKind::cache
                            ? model_.forecast_cached(seen, now, knob.stage).rate
                            : model_.forecast(seen, values).rate;
    return before_.rate * rate / modelled;
  }

  void put_back(const TuningObservation& seen, const KnobState& knob, TuningDecision& decision) {
    decision.settings.push_back({knob.id, value_before_});
    if (knob.kind != KnobKind::cache) return begin_phase(Phase::after, seen);
    judge(before_, decision);  // its elements are read until the pass ends
    end_try(seen, decision);
  }

  /// Compares with the mean of before and after, so that a trend is no gain.
  void judge(const RunningFigures& after, TuningDecision& decision) {
    change_.rate_before = (before_.rate + after.rate) / 2;
    const bool are_comparable = are_alike(with_.cores_of_others, before_.cores_of_others) &&
                                are_alike(with_.cores_of_others, after.cores_of_others);
    change_.rate_after = are_comparable ? with_.rate : 0;
    change_.outcome = TuningChange::Outcome::rolled_back;
    decision.finished.push_back(change_);
    ++tried_;
    const double gain = change_.rate_after / std::max(1e-9, change_.rate_before) - 1;
    if (gain <= best_gain_) return;
    best_gain_ = gain;
    best_ = change_.knobs.front().text();
  }

  /// Goes on without a knob whose stage is gone, and the setting with it.
  void give_up(const TuningObservation& seen, TuningDecision& decision) {
    if (phase_ != Phase::before) {
      change_.outcome = TuningChange::Outcome::overtaken;
      decision.finished.push_back(change_);
    }
    before_ = {};
    end_try(seen, decision);
  }

  void end_try(const TuningObservation& seen, TuningDecision& decision) {
    candidates_.pop_front();
    if (candidates_.empty()) {
      decision.notes.push_back(fmt::format(
          "INFEED_TRY: {} tried for a second each, and put back; {}",
          tried_ == 1 ? "1 setting was" : fmt::format("{} settings were", tried_),
          best_.empty() ? "none brought more than 2 %"
                        : fmt::format("the best was {} with {:+.0f} %", best_, 100 * best_gain_)));
      return begin_phase(Phase::over, seen);
    }
    const KnobState* const next = find_knob(seen, candidates_.front().knob);
    if (next == nullptr || before_.rate == 0) return begin_phase(Phase::before, seen);
    begin_try(seen, *next, decision);
  }

  const std::shared_ptr<TuningPolicy> tuner_;
  PipelineModel model_;
  Phase phase_ = Phase::tuning;
  bool tuner_tries_ = false;
  std::deque<Candidate> candidates_;  ///< the first one is being tried
  TuningChange change_;
  std::int64_t value_before_ = 0;
  RunningFigures before_;
  RunningFigures with_;
  double began_ns_ = 0;  ///< when the phase began
  double skipped_ = 0;   ///< elements since then
  // Sums of the phase's windows that count.
  double ns_ = 0;
  double elements_ = 0;
  double others_ns_ = 0;
  int tried_ = 0;
  double best_gain_ = 0.02;
  std::string best_;
};

}  // namespace

std::shared_ptr<TuningPolicy> try_settings(std::shared_ptr<TuningPolicy> tuner) {
  return std::make_shared<TriedSettings>(std::move(tuner));
}

}  // namespace infeed::detail
