#pragma once

#include <vector>

#include "profile/flow_model.h"
#include "profile/profile_report.h"

namespace infeed::tools {

/// Returns the changes that would gain something by the model of that run, the best one first. A
/// change that does away with the cause of late steps gains their time at least, also where averages
/// say that nothing is too slow.
std::vector<WhatIf> what_ifs(const RecordedRun& run, const FlowModel& model,
                             const std::vector<LateStep>& late_steps);

}  // namespace infeed::tools
