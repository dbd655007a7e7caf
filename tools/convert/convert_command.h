#pragma once

#include "command_line.h"

/// `infeed convert`: makes TFRecord shards of other data.
namespace infeed::tools {

Command add_convert_command(CLI::App& app);

}  // namespace infeed::tools
