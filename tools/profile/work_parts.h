#pragma once

#include <cstdint>
#include <vector>

#include "profile/recorded_run.h"

namespace infeed::tools {

/// Some windows that follow each other.
struct WorkPart {
  std::uint64_t end_ns = 0;
  double element_ns = 0;  ///< that the stages take for an element of the pipeline's end
  double full_share = 0;  ///< share of the time in which the stage that runs ahead had no room
};

/// Returns the parts of a run, in order. `ahead`: the stage that runs ahead; -1: none.
std::vector<WorkPart> parts_of(const RecordedRun& run, int ahead);

}  // namespace infeed::tools
