#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "cli/command_line.h"

/// Why: --help in the width of the terminal and a manual page show the same descriptions of the
/// options.
namespace infeed::tools {

/// Returns the text of `infeed --help` (app: the whole program) or `infeed COMMAND --help`, in
/// lines of at most `columns` columns. Examples aren't broken: they are there to be copied.
std::string help_text(const CLI::App& app, std::size_t columns);

/// Returns the manual page of the program, or of one of its commands, for man(1). That of the
/// program names those of the commands.
std::string manual_page(const CLI::App& app, std::string_view version);

/// Prints help in this form for the program and for every command that is added later.
void set_help(CLI::App& app);

/// `infeed help [COMMAND]`.
Command add_help_command(CLI::App& app, std::string_view version);

}  // namespace infeed::tools
