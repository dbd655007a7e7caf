#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <infeed/pipeline/tuning.h>

#include "tune/pipeline_model.h"

namespace infeed::detail {

/// "24,400": rounded to three digits.
std::string rounded(double number);
/// "12 MB".
std::string bytes_text(std::uint64_t bytes);
/// "41 us".
std::string time_text(double ns);
/// "all 2 cores are", "the 1.3 cores that others leave are".
std::string cores_text(double cores, double all);
/// Returns the name that profiles use: "workers".
std::string_view name_of(KnobKind kind);
/// "+84 %".
std::string change_text(double from, double to);
/// Says what bounds the rate at these values of the knobs: "map is the slowest".
std::string slowest_text(const PipelineModel& model, const TuningObservation& seen,
                         std::span<const std::int64_t> values);
/// Says which threads the user wrote and no longer has: "; the tuner turned off the threads of map".
/// Empty if there are none.
std::string turned_off_text(const TuningObservation& seen, const std::vector<std::int64_t>& first);
/// Says what bounds the rate now, and whether any setting could change that.
std::string bound_text(const PipelineModel& model, const TuningObservation& seen);

}  // namespace infeed::detail
