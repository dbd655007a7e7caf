#pragma once

#include <functional>
#include <string_view>

#include "profile/profile_report.h"
#include "profile/recorded_run.h"

/// Why: Perfetto (ui.perfetto.dev) and chrome://tracing show what happened beside what, to the
/// microsecond: steps with their parts, slow calls by thread, rates and queues by stage, and an
/// arrow from a slow call to the step that it made late.
///
///     OutputFile file(name, ExistingFile::replace, Durability::leave_to_system);
///     profile_trace(run, report, [&](std::string_view bytes) { file.write(bytes); });
///
/// It is the array form of Chrome's JSON, an event a line, which viewers open even when it is cut.
namespace infeed::tools {

void profile_trace(const RecordedRun& run, const ProfileReport& report,
                   const std::function<void(std::string_view)>& write);

}  // namespace infeed::tools
