#pragma once

#include "cli/command_line.h"

namespace infeed::tools {

/// `infeed feed`: makes the batches of the trainers of the same MPI job; with --take it is a trainer
/// that only takes them.
Command add_feed_command(CLI::App& app);

}  // namespace infeed::tools
