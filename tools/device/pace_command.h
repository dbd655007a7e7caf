#pragma once

#include "cli/command_line.h"

namespace infeed::tools {

/// `infeed pace`: measures how well this machine holds a device's deadlines, and whether a pipeline
/// keeps up.
Command add_pace_command(CLI::App& app);

}  // namespace infeed::tools
