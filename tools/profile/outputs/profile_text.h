#pragma once

#include <string>
#include <vector>

#include "cli/terminal.h"
#include "profile/profile_report.h"
#include "profile/recorded_run.h"

/// Why: the person who asks "why is my accelerator waiting?" sits at a terminal, mostly a remote one.
///
///     Terminal terminal(stdout);
///     for (const std::string& line : profile_text(run, report, terminal)) terminal.line(line);
///
/// The lines are as wide as the terminal, between 80 and 100 columns. Names in them are fit for a
/// terminal; the only escape sequences are the colours of terminal.paint().
namespace infeed::tools {

std::vector<std::string> profile_text(const RecordedRun& run, const ProfileReport& report,
                                      const Terminal& terminal);

}  // namespace infeed::tools
