#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cli/command_line.h"

namespace CLI {
class Validator;
}

/// What holds for the options of every command, so that none has to remember it.
namespace infeed::tools {

/// Of a number, or of a size once it is one. CLI11's own names the largest double in its message.
CLI::Validator is_positive();

/// An empty text is no name and no path, and -1 is no count: without this they would be taken for an
/// option that isn't given, and for 2^64 - 1. To be called when the command has all its options.
void refuse_senseless_values(CLI::App& command);

/// The first of the words of a parsed command that looks like an option and is none: "--ouput".
std::optional<std::string> unknown_option(const CLI::App& command);

/// Its options' long names, with their dashes.
std::vector<std::string> option_names(const CLI::App& command);

/// "; did you mean --output?", or nothing when no name is near enough.
std::string suggestion(std::string_view typed, const std::vector<std::string>& names);

}  // namespace infeed::tools
