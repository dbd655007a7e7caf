#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <infeed/pipeline/tuning_policy.h>

namespace infeed::detail {

using KnobValues = std::vector<std::int64_t>;  ///< one a knob of an observation

KnobValues values_of(const TuningObservation& seen);
std::int64_t workers_in(const TuningObservation& seen, const KnobValues& values);
const std::string& label_of(const TuningObservation& seen, const KnobState& knob);
/// Adds the settings to `decision` that change the knobs to these values.
void set_knobs(const TuningObservation& seen, const KnobValues& values, TuningDecision& decision);

/// Puts observations together to windows that say something: long enough, with elements enough.
class TuningWindows {
 public:
  /// `seen`, with the quiet time before it in which the consumer was busy with its element; nothing
  /// while it still is. `usual_rate`: elements/s, 0 where nobody knows.
  std::optional<TuningObservation> behind_quiet(const TuningObservation& seen, double usual_rate);
  /// The window that `seen` makes whole.
  std::optional<TuningObservation> whole(const TuningObservation& seen);
  /// Forgets the window that isn't whole yet.
  void drop() { window_ = {}; }
  /// Another phase began with the window that ended then.
  void note_phase(std::uint64_t at_ns);
  /// Longer than 0 where the work comes in bursts.
  std::uint64_t ns_min() const { return ns_min_; }

 private:
  TuningObservation window_;  ///< being added up
  TuningObservation quiet_;   ///< in which the consumer took nothing and waited for nothing
  std::optional<std::uint64_t> phase_began_ns_;  ///< but for the first
  std::uint64_t ns_min_ = 0;
};

}  // namespace infeed::detail
