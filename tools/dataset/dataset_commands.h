#pragma once

#include "cli/command_line.h"

/// The commands for existing datasets, one .cc each.
namespace infeed::tools {

/// `infeed verify`: compares a dataset with its manifest.
Command add_verify_command(CLI::App& app);
/// `infeed inspect`: shows the content of record files.
Command add_inspect_command(CLI::App& app);
/// `infeed batch`: shows the batch of any step of a run, and where its rows come from.
Command add_batch_command(CLI::App& app);
/// `infeed repair`: saves the records of a damaged file.
Command add_repair_command(CLI::App& app);
/// `infeed index`: writes an index beside record files.
Command add_index_command(CLI::App& app);

}  // namespace infeed::tools
