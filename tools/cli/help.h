#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "cli/command_line.h"

/// Why: what the options say of themselves is shown in two ways, as --help in the width of the
/// terminal and as a manual page, and both come from the one description.
namespace infeed::tools {

/// What `infeed --help` (app: the whole program) or `infeed COMMAND --help` prints, in lines of at
/// most so many columns where they can be broken. Examples can't: they are there to be copied.
std::string help_text(const CLI::App& app, std::size_t columns);

/// The manual page of the program with all its commands, for man(1).
std::string manual_page(const CLI::App& app, std::string_view version);

/// Prints help in this manner for the program and for every command that is added after this.
void set_help(CLI::App& app);

/// `infeed help [COMMAND]`.
Command add_help_command(CLI::App& app, std::string_view version);

}  // namespace infeed::tools
