#pragma once

#include "cli/command_line.h"

/// The commands for datasets that are there already, one .cc each.
namespace infeed::tools {

/// `infeed verify`: is a dataset what its manifest says?
Command add_verify_command(CLI::App& app);
/// `infeed inspect`: what is in record files, for people.
Command add_inspect_command(CLI::App& app);
/// `infeed repair`: saves the records of a damaged file.
Command add_repair_command(CLI::App& app);
/// `infeed index`: writes an index beside record files.
Command add_index_command(CLI::App& app);

}  // namespace infeed::tools
