#pragma once

#include <functional>
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

/// Requires a positive whole number or size. The message of CLI11's own check contains the largest
/// double.
CLI::Validator is_positive();

/// Requires a number above 0, as is_positive() does a whole one.
CLI::Validator is_positive_number();

/// Requires one of these texts, which the option's help lists and a shell completes. CLI11's own check
/// writes the list to a stream, which passes over a lack of memory.
CLI::Validator one_of(const std::vector<std::string>& choices);

/// Requires a text that `parse` takes: a wrong name of a slice is a wrong command, with exit status 2.
/// The message is that of the Error that it throws.
CLI::Validator parsed_by(std::function<void(const std::string&)> parse);

/// Reads a decimal number. Empty for anything else, and for NaN and infinity: NaN is neither below
/// nor above the limits of a range, so that it would pass every one.
std::optional<double> finite_number(std::string_view text);

/// Refuses an empty text, which is no name and no path, -1 and 0x10, which are no counts, and NaN and
/// infinity, which are no numbers. They would be taken for an option that isn't given, for 2^64 - 1 and
/// 16, and for a number in range. Leading zeros of a count are dropped: 010 would be taken for 8. Call
/// it when the command has all its options.
void refuse_senseless_values(CLI::App& command);

/// Returns what is wrong if a report of a parsed command would replace a file that the command or its
/// pipeline in JSON reads, or a file of a dataset, or be written twice; nothing otherwise. The files of
/// a dataset are known by their names: a folder as an input is not looked into, and those of an output
/// may not be there yet.
std::optional<std::string> report_in_use(const CLI::App& command);

/// Returns the first word of a parsed command that looks like an option and is none: "--ouput".
std::optional<std::string> unknown_option(const CLI::App& command);

/// Returns the long names of its options, with their dashes.
std::vector<std::string> option_names(const CLI::App& command);

/// Returns "; did you mean --output?", or nothing if no name is near enough.
std::string suggestion(std::string_view typed, const std::vector<std::string>& names);

}  // namespace infeed::tools
