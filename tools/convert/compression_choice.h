#pragma once

#include <optional>
#include <string>

#include <infeed/records/compression.h>

#include "cli/command_line.h"

namespace infeed::tools {

/// Compression of written shards, as given to a command.
struct CompressionChoice {
  std::string name = "none";
  std::optional<int> level = {};
};

/// Adds --compression and --compression-level; `choice` must outlive the command.
void add_compression_options(CLI::App& command, CompressionChoice& choice);

/// Throws Error invalid_argument if the level doesn't fit.
Compression compression_of(const CompressionChoice& choice);

}  // namespace infeed::tools
