#pragma once

#include <string>
#include <vector>

#include "plan/host_replay.h"
#include "plan/plan.h"

namespace infeed::tools {

/// Returns the sentence that a person takes away from the rows.
std::string plan_verdict(const Plan& plan, const PlanOptions& options, const HostReplay& replay);

/// Returns what limits the plan's worth: fewer hosts than asked for, other processes, and so on.
std::vector<std::string> plan_notes(const Plan& plan, const PlanOptions& options,
                                    const HostReplay& replay, const RecordedRun& run);

}  // namespace infeed::tools
