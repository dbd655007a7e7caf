#pragma once

#include <string>

#include "cli/command_line.h"

/// Why: the Tab key knows every command, option and value without a list that somebody must keep.
namespace infeed::tools {

/// Returns the script that completes this program's command line in bash: commands, options, the
/// values of options that have a list of them, and names of files for the rest.
std::string bash_completion(const CLI::App& app);

/// Returns the same for zsh, with the descriptions. It works sourced, and as a file in $fpath.
std::string zsh_completion(const CLI::App& app);

/// `infeed completion bash|zsh`.
Command add_completion_command(CLI::App& app);

}  // namespace infeed::tools
