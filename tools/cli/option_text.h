#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace CLI {
class App;
class Option;
}  // namespace CLI

/// Descriptions of a command and its options, without a layout (help.cc has two).
namespace infeed::tools {

/// The parts of an option: {"-o", "--output"} and DIR, or no names and INPUT... .
struct OptionName {
  std::vector<std::string> names;
  std::string value;
};

OptionName name_of(const CLI::Option& option);

/// "Shards of each set (1 to 99999; default 16; not with --shard-size)"
std::string description_of(const CLI::Option& option);

/// Returns the values that the option takes, if it has a list of them: {"none", "gzip"}.
std::vector<std::string> choices_of(const CLI::Option& option);

std::vector<const CLI::Option*> positionals_of(const CLI::App& app);
std::vector<const CLI::Option*> options_of(const CLI::App& app);
std::vector<const CLI::App*> commands_of(const CLI::App& app);

/// "infeed convert [OPTION]... [INPUT]..."
std::string usage_of(const CLI::App& app);

/// Splits text into lines, without the empty ones at its end.
std::vector<std::string> lines_of(std::string_view text);

/// True for a line of a footer that is an example to copy: it must not be broken.
bool is_example(std::string_view line);

}  // namespace infeed::tools
