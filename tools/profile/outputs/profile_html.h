#pragma once

#include <stop_token>
#include <string>

#include "profile/profile_report.h"
#include "profile/recorded_run.h"

/// Why: a person understands a picture at a glance, and sends it to others. It is one file that asks
/// for no other and no network; its parts lie in tools/profile/page/.
namespace infeed::tools {

/// UTF-8. The size is bounded (about 500 KB) however long the run was: from 600 steps on a bar is
/// the mean of several, and of the late steps the 500 latest are in it. Throws Error (cancelled)
/// when somebody asked to stop.
std::string profile_html(const RecordedRun& run, const ProfileReport& report,
                         const std::stop_token& stop = {});

}  // namespace infeed::tools
