#pragma once

#include <cstdint>
#include <stop_token>
#include <vector>

#include "profile/flow_model.h"
#include "profile/profile_report.h"

// Which steps came late, and what each of them waited for.
namespace infeed::tools {

/// The step in the middle, by length and by wait.
struct TypicalStep {
  std::uint64_t length_ns = 0;
  std::uint64_t infeed_wait_ns = 0;
};
TypicalStep typical_step(const RecordedRun& run);

/// By number. A step is late when it took half as long again as the typical one, and at least as
/// much longer as a call takes that is kept one by one (RecordedRun::slow_after_ns).
std::vector<LateStep> late_steps(const RecordedRun& run, const FlowModel& model,
                                 const std::stop_token& stop = {});

}  // namespace infeed::tools
