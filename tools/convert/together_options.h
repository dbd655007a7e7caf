#pragma once

#include <memory>
#include <optional>
#include <string>

#include <infeed/communicator.h>
#include <infeed/records/files.h>

#include "cli/command_line.h"

namespace infeed::tools {

/// How one process takes part in a conversion by several.
struct TogetherOptions {
  std::string share;  ///< "1/3"; empty without --shard
  bool finish = false;
  bool alone = false;
};

/// Adds --shard, --finish and --alone, behind --overwrite; `options` must outlive the command.
void add_together_options(CLI::App& command, TogetherOptions& options);

/// Returns the share of --shard; nothing without it.
std::optional<Shard> share_of(const TogetherOptions& options);

/// Returns the communicator of the job that this process is a rank of, to make the shards together;
/// nothing in one process, or if the options say what it makes. Throws invalid_argument or
/// failed_precondition, with advice, if a launcher started several processes that MPI can't join.
std::unique_ptr<Communicator> join_job(const TogetherOptions& options);

}  // namespace infeed::tools
