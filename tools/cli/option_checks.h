#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cli/command_line.h"

namespace CLI {
class Validator;
}

/// Checks for the options of every command, so that none has to remember them.
namespace infeed::tools {

/// Requires a positive number or size. The message of CLI11's own check contains the largest
/// double.
CLI::Validator is_positive();

/// Refuses an empty text, which is no name and no path, and -1, which is no count. They would be
/// taken for an option that isn't given, and for 2^64 - 1. Call it when the command has all its
/// options.
void refuse_senseless_values(CLI::App& command);

/// Returns the first word of a parsed command that looks like an option and is none: "--ouput".
std::optional<std::string> unknown_option(const CLI::App& command);

/// Returns the long names of its options, with their dashes.
std::vector<std::string> option_names(const CLI::App& command);

/// Returns "; did you mean --output?", or nothing if no name is near enough.
std::string suggestion(std::string_view typed, const std::vector<std::string>& names);

}  // namespace infeed::tools
