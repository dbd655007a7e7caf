#pragma once

#include "cli/command_line.h"

namespace infeed::tools {

/// infeed profile: why an accelerator waits, from a recorded run.
Command add_profile_command(CLI::App& app);
/// infeed top: what a running process is doing.
Command add_top_command(CLI::App& app);
/// infeed compare: two recorded runs.
Command add_compare_command(CLI::App& app);

}  // namespace infeed::tools
