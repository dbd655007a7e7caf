#pragma once

#include <cstdint>
#include <vector>

#include "profile/recorded_run.h"

namespace infeed::tools {

/// The last seconds of all iterators that a process of this user shows (INFEED_TOP=1,
/// RecordingOptions::live), the oldest first. The process is not touched.
///
/// Errors: not_found (there is no such process, or it has ended), permission_denied (it is another
/// user's), failed_precondition (it shows nothing; how to make it).
std::vector<RecordedRun> live_runs(std::int64_t process);

}  // namespace infeed::tools
