#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "tune/pipeline_model.h"
#include "tune/tuning_windows.h"

namespace infeed::detail {

/// How far forecasts were off in the last trials. A saving needs as much slack.
class ForecastError {
 public:
  /// Notes a trial that was judged.
  void note(double predicted, double measured);
  /// Returns the largest error of the last trials, at least a tenth: a share of the rate.
  double share() const;

 private:
  std::array<double, 4> last_{};
  std::size_t at_ = 0;
};

/// The time without trials behind one that other processes have disturbed, and without savings
/// behind one that has cost something.
class TrialRest {
 public:
  /// Begins a rest twice as long as the last one.
  void begin(std::uint64_t at_ns);
  /// Begins a rest twice as long as the last one of savings.
  void begin_for_savings(std::uint64_t at_ns);
  bool lasts(std::uint64_t at_ns) const { return at_ns < until_ns_; }
  bool lasts_for_savings(std::uint64_t at_ns) const { return at_ns < savings_until_ns_; }

 private:
  std::uint64_t rest_ns_ = 0;
  std::uint64_t until_ns_ = 0;
  std::uint64_t savings_ns_ = 0;
  std::uint64_t savings_until_ns_ = 0;
};

/// The figures of some time that others are compared with.
struct RunningFigures {
  double rate = 0;        ///< elements/s
  double wait_share = 0;  ///< in the consumer's time
  double cores_of_others = 0;
};
RunningFigures figures_of(const TuningObservation& window);

/// A change of knobs that is being measured.
class TuningTrial {
 public:
  enum class Kind {
    growth,   ///< must bring a part of the predicted gain
    saving,   ///< gives threads or memory back; must cost nothing
    undoing,  ///< brings back what a saving gave away: stays, whatever it brings
  };
  enum class Verdict {
    under_way,
    kept,
    rolled_back,
    not_comparable,  ///< other processes came or went: nothing can be said, and it is rolled back
  };

  /// `change` has the knobs, the reason and the predicted rate. `elements_min`: elements to see
  /// before it is judged.
  TuningTrial(Kind kind, TuningChange change, const TuningObservation& seen, KnobValues after,
              const RunningFigures& before, double elements_min);

  /// Adds a window. `phase_rate`: the best rate known of this work. `window_ns_min`: the length of
  /// windows, if the work comes in bursts; else 0.
  Verdict judge(const TuningObservation& seen, double phase_rate, std::uint64_t window_ns_min);

  Kind kind() const { return kind_; }
  bool saves() const { return kind_ == Kind::saving; }
  TuningChange& change() { return change_; }
  const KnobValues& before() const { return before_; }
  const KnobValues& after() const { return after_; }
  const RunningFigures& figures_before() const { return figures_before_; }

 private:
  double least_kept(double phase_rate) const;
  bool is_clearly_worse(double ratio, double wait_share) const;

  Kind kind_;
  TuningChange change_;
  KnobValues before_;
  KnobValues after_;
  RunningFigures figures_before_;
  bool is_among_others_;
  double settled_at_ns_;
  double elements_min_;
  // Sums over its windows.
  double ns_ = 0;
  double elements_ = 0;
  double wait_ns_ = 0;
  double others_ns_ = 0;  ///< cores of others times time
};

/// True if rates with these cores of others can be compared.
bool are_alike(double others, double others_before);
/// True if the consumer waits for so much more of its time that a saving must be undone.
bool waits_longer(double wait_share, double wait_share_before);

}  // namespace infeed::detail
