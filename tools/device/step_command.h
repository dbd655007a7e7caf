#pragma once

#include "cli/command_line.h"

namespace infeed::tools {

/// infeed step: how long a model's step takes on a slice, and what it asks of the hosts.
Command add_step_command(CLI::App& app);

}  // namespace infeed::tools
