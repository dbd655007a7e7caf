#pragma once

#include "cli/command_line.h"

namespace infeed::tools {

/// `infeed plan`: the hosts that a slice needs, from one recorded run.
Command add_plan_command(CLI::App& app);

}  // namespace infeed::tools
