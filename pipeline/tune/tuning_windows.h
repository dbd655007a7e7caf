#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <infeed/pipeline/tuning_policy.h>

namespace infeed::detail {

using KnobValues = std::vector<std::int64_t>;  ///< one for each knob of an observation

KnobValues values_of(const TuningObservation& seen);
std::int64_t workers_in(const TuningObservation& seen, const KnobValues& values);
const std::string& label_of(const TuningObservation& seen, const KnobState& knob);
/// Adds the settings to `decision` that change the knobs to these values.
void set_knobs(const TuningObservation& seen, const KnobValues& values, TuningDecision& decision);

/// Joins observations into windows that are long enough, and have enough elements, to decide by.
class TuningWindows {
 public:
  /// Returns `seen` with the quiet time before it, in which the consumer was busy with its element.
  /// Nothing while it still is busy. `usual_rate`: elements/s; 0: not known.
  std::optional<TuningObservation> behind_quiet(const TuningObservation& seen, double usual_rate);
  /// Adds `seen` to the window, and returns the window if it is whole now.
  std::optional<TuningObservation> whole(const TuningObservation& seen);
  /// Forgets the window that isn't whole yet.
  void drop() { window_ = {}; }
  /// Notes that another phase began with the window that ended at `at_ns`.
  void note_phase(std::uint64_t at_ns);
  /// Returns the least length of a window: more than 0 if the work comes in bursts.
  std::uint64_t ns_min() const { return ns_min_; }

 private:
  TuningObservation window_;  ///< being added up
  TuningObservation quiet_;   ///< time in which the consumer took nothing and didn't wait
  std::optional<std::uint64_t> phase_began_ns_;  ///< none in the first phase
  std::uint64_t ns_min_ = 0;
};

}  // namespace infeed::detail
