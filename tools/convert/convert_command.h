#pragma once

#include <vector>

#include <infeed/convert/command.h>

#include "cli/command_line.h"

/// `infeed convert`: makes TFRecord shards from other data.
namespace infeed::tools {

Command add_convert_command(CLI::App& app, const std::vector<InputKind>& own_kinds);
/// `infeed reshard`: the same with record files as the input.
Command add_reshard_command(CLI::App& app);

}  // namespace infeed::tools
