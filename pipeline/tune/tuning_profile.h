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

  /// Sets what it names, at the first call; false where there is nothing to begin with.
  bool begin(const TuningObservation& seen, TuningDecision& decision);
  enum class Check {
    done,
    under_way,
    stale,  ///< it was found out for other work: what it has set goes back to what it was
  };
  /// Looks whether the stages take as long as they did.
  Check check(const PipelineModel& model, const TuningObservation& seen, TuningDecision& decision);

 private:
  std::string text_;                  ///< until it has begun
  std::map<std::string, double> ns_;  ///< by stage; empty once they were compared
  KnobValues before_;
};

}  // namespace infeed::detail
