#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <infeed/pipeline/tuning_policy.h>

namespace infeed::detail {

/// The consumer is busy with something.
bool is_quiet(const TuningObservation& seen);
/// Whether it is long enough, and has elements enough, to say something.
bool is_whole(const TuningObservation& window);
/// Puts the next window behind `sum`.
void add_up(TuningObservation& sum, const TuningObservation& seen);
/// Returns the values of its knobs.
std::vector<std::int64_t> values_of(const TuningObservation& seen);
std::int64_t workers_in(const TuningObservation& seen, const std::vector<std::int64_t>& values);
const std::string& label_of(const TuningObservation& seen, const KnobState& knob);

}  // namespace infeed::detail
