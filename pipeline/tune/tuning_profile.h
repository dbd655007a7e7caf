#pragma once

#include <map>
#include <string>

#include "tune/pipeline_model.h"
#include "tune/tuning_windows.h"

namespace infeed::detail {

/// Returns the results of this run as text for the next one: a line for the machine, one for each
/// stage's time, and one for each knob.
///
///     infeed tuning 1
///     cores 2
///     time 20134.5 map 'augment'
///     workers 4 map 'augment'
///     depth 65536 prefetch
///     cache 1 optional_cache
std::string profile_text(const PipelineModel& model, const TuningObservation& seen);

/// The profile that an earlier run has left.
class TuningProfile {
 public:
  explicit TuningProfile(std::string text) : text_(std::move(text)) {}

  /// Sets the knobs that the profile names, at the first call. False if there is nothing to begin
  /// with.
  bool begin(const TuningObservation& seen, TuningDecision& decision);
  enum class Check {
    done,
    under_way,
    stale,  ///< it was learnt from other work: its settings are taken back
  };
  /// Checks whether the stages take as long as the profile says.
  Check check(const PipelineModel& model, const TuningObservation& seen, TuningDecision& decision);

 private:
  std::string text_;                  ///< empty once begin() has read it
  std::map<std::string, double> ns_;  ///< time by stage; empty once compared
  KnobValues before_;
};

}  // namespace infeed::detail
