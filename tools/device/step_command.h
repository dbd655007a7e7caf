#pragma once

#include "cli/command_line.h"

namespace infeed::tools {

/// `infeed step`: shows how long a model's step takes on a slice, and what the hosts must deliver.
Command add_step_command(CLI::App& app);

}  // namespace infeed::tools
