#pragma once

#include <cstdint>
#include <optional>

#include "tune/tuning_trial.h"

namespace infeed::detail {

/// The savings that were kept. They are watched for as long as they last, whatever the work is, and
/// are all undone together.
class KeptSavings {
 public:
  /// Notes a saving that stays. The first one of several has the setting to go back to, and the
  /// first one of a phase the figures of that work.
  void note(const TuningTrial& trial);
  /// Notes that other work begins, whose rate isn't known. The consumer's wait is still compared: it
  /// should be no longer than it was without the savings.
  void begin_phase() { rate_ = 0; }
  /// Adds a window. Returns the setting to go back to if the savings have cost rate or waiting time
  /// for long enough. `window_ns_min`: as for TuningTrial::judge().
  std::optional<KnobValues> regretted(const TuningObservation& window, std::uint64_t window_ns_min);
  double rate() const { return rate_; }

 private:
  KnobValues before_;  ///< empty: nothing was saved
  double rate_ = 0;    ///< before the first saving in this phase; 0: there was none
  double wait_share_ = 0;
  double worse_ns_ = 0;  ///< time in a row in which the savings have cost something
};

}  // namespace infeed::detail
