#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <fmt/format.h>
#include <memory>
#include <vector>

#include "cli/command_line.h"
#include "cli/option_text.h"
#include "cli/terminal.h"

namespace infeed::tools {
namespace {

constexpr std::size_t kTextColumn = 24;  ///< where the description of an option begins
constexpr std::size_t kHelpColumnsMax =
    100;  ///< longer lines are hard to read, however wide the terminal is
constexpr std::size_t kColumnsOfFile = 80;

/// Appends the text's words, the first at column `column`, and further lines from `begin` on.
void append_wrapped(std::string& out, std::string_view text, std::size_t column, std::size_t begin,
                    std::size_t columns) {
  std::string_view gap;  // before the next word, unless a line begins with it
  while (!text.empty()) {
    const std::string_view word = text.substr(0, text.find(' '));
    if (!gap.empty() && column + gap.size() + word.size() > columns) {
      out.append("\n").append(begin, ' ');
      column = begin;
      gap = "";
    }
    out.append(gap).append(word);
    column += gap.size() + word.size();
    gap = " ";
    text.remove_prefix(std::min(word.size() + 1, text.size()));
  }
  out += '\n';
}

/// Appends two columns. If the left one is too long, the right one begins in the next line.
void append_row(std::string& out, const std::string& left, const std::string& right,
                std::size_t columns) {
  out += left;
  if (left.size() + 2 > kTextColumn) {
    out.append("\n").append(kTextColumn, ' ');
  } else {
    out.append(kTextColumn - left.size(), ' ');
  }
  append_wrapped(out, right, kTextColumn, kTextColumn, columns);
}

/// Returns "-o, --output DIR"; long names align whether or not there is a short one.
std::string left_of(const OptionName& name) {
  const bool has_short = !name.names.empty() && !name.names.front().starts_with("--");
  std::string result = name.names.empty() || has_short ? "  " : "      ";
  result += fmt::format("{}", fmt::join(name.names, ", "));
  if (name.value.empty()) return result;
  return result + (name.names.empty() ? "" : " ") + name.value;
}

void append_options(std::string& out, const char* title,
                    const std::vector<const CLI::Option*>& options, std::size_t columns) {
  if (options.empty()) return;
  out += title;
  for (const CLI::Option* const option : options) {
    append_row(out, left_of(name_of(*option)), description_of(*option), columns);
  }
}

std::size_t columns_of_output() {
  const Terminal terminal(stdout);
  if (!terminal.is_live()) return kColumnsOfFile;
  return std::min(static_cast<std::size_t>(terminal.columns()), kHelpColumnsMax);
}

/// Escapes text for roff: no line is a request, and a hyphen stays one that can be copied.
std::string roff(std::string_view text) {
  std::string result;
  if (text.starts_with('.') || text.starts_with('\'')) result += "\\&";
  for (const char c : text) {
    if (c == '\\') {
      result += "\\e";
    } else if (c == '-') {
      result += "\\-";
    } else {
      result += c;
    }
  }
  return result;
}

std::string roff_name(const OptionName& name) {
  std::vector<std::string> names;
  for (const std::string& one : name.names) names.push_back("\\fB" + roff(one) + "\\fR");
  std::string result = fmt::format("{}", fmt::join(names, ", "));
  if (name.value.empty()) return result;
  return result + (names.empty() ? "" : " ") + "\\fI" + roff(name.value) + "\\fR";
}

void append_roff_options(std::string& out, const std::vector<const CLI::Option*>& options) {
  for (const CLI::Option* const option : options) {
    out += fmt::format(".TP\n{}\n{}\n", roff_name(name_of(*option)), roff(description_of(*option)));
  }
}

void append_roff_footer(std::string& out, const CLI::App& app) {
  bool was_example = false;
  for (const std::string& line : lines_of(app.get_footer())) {
    const bool is_one = is_example(line);
    if (is_one != was_example) out += is_one ? ".PP\n.nf\n" : ".fi\n";
    if (!is_one) out += ".PP\n";
    out += roff(line) + '\n';
    was_example = is_one;
  }
  if (was_example) out += ".fi\n";
}

std::vector<std::string> names_of(const std::vector<const CLI::App*>& commands) {
  std::vector<std::string> names;
  for (const CLI::App* const command : commands) names.push_back(command->get_name());
  return names;
}

/// Returns "infeed" for the program, "infeed-convert" for a command.
std::string page_name(const CLI::App& app) {
  const CLI::App* const parent = app.get_parent();
  return parent == nullptr ? app.get_name() : parent->get_name() + "-" + app.get_name();
}

struct HelpCommandOptions {
  const CLI::App* explained = nullptr;
  bool is_manual_page = false;
};

/// Returns the text of `infeed --help` (app: the whole program) or `infeed COMMAND --help`, in
/// lines of at most `columns` columns. Examples aren't broken: they are there to be copied.
std::string help_text(const CLI::App& app, std::size_t columns) {
  std::string out = fmt::format("Usage: {}\n", usage_of(app));
  append_wrapped(out, app.get_description(), 0, 0, columns);
  append_options(out, "\nWhat it takes:\n", positionals_of(app), columns);
  append_options(out, "\nOptions:\n", options_of(app), columns);
  if (const auto commands = commands_of(app); !commands.empty()) {
    out += "\nCommands:\n";
    for (const CLI::App* const command : commands) {
      append_row(out, "  " + command->get_name(), command->get_description(), columns);
    }
  }
  const std::vector<std::string> footer = lines_of(app.get_footer());
  if (!footer.empty()) out += '\n';
  for (const std::string& line : footer) {
    if (is_example(line)) {
      out += line + '\n';
    } else {
      append_wrapped(out, line, 0, 0, columns);
    }
  }
  return out;
}

/// Returns the manual page of the program, or of one of its commands, for man(1). That of the
/// program names those of the commands.
std::string manual_page(const CLI::App& app, std::string_view version) {
  const std::string name = page_name(app);
  const CLI::App& program = app.get_parent() == nullptr ? app : *app.get_parent();
  std::string out = fmt::format(
      ".TH {} 1 \"\" \"{} {}\" \"User Commands\"\n.SH NAME\n{} \\- {}\n.SH SYNOPSIS\n{}\n",
      roff(name), roff(program.get_name()), roff(version), roff(name), roff(app.get_description()),
      roff(usage_of(app)));
  out += ".SH OPTIONS\n";
  append_roff_options(out, positionals_of(app));
  append_roff_options(out, options_of(app));
  append_roff_footer(out, app);
  if (&app != &program)
    return out + fmt::format(".SH SEE ALSO\n.BR {} (1)\n", roff(program.get_name()));
  out += ".SH COMMANDS\n";
  for (const CLI::App* const command : commands_of(app)) {
    out += fmt::format(".TP\n.BR {} (1)\n{}\n", roff(page_name(*command)),
                       roff(command->get_description()));
  }
  return out;
}

}  // namespace

void set_help(CLI::App& app) {
  app.formatter_fn([](const CLI::App* shown, std::string, CLI::AppFormatMode) {
    return help_text(*shown, columns_of_output());
  });
}

Command add_help_command(CLI::App& app, std::string_view version) {
  const auto options = std::make_shared<HelpCommandOptions>();
  options->explained = &app;
  CLI::App* const command = app.add_subcommand("help", "Explain a command, as its --help does");
  command
      ->add_option_function<std::string>(
          "COMMAND",
          [&app, options](const std::string& name) {
            const std::vector<const CLI::App*> commands = commands_of(app);
            const auto found = std::find_if(
                commands.begin(), commands.end(),
                [&](const CLI::App* candidate) { return candidate->get_name() == name; });
            if (found == commands.end()) {
              throw CLI::ValidationError(
                  fmt::format("there is no command '{}'; the commands are {}", name,
                              fmt::join(names_of(commands), ", ")),
                  CLI::ExitCodes::ValidationError);
            }
            options->explained = *found;
          },
          "The command; without it, the program as a whole")
      ->type_name("COMMAND");
  command->add_flag("--man", options->is_manual_page, "Print its manual page instead, for man(1)");
  command->footer("Example: infeed help convert\n");
  return {.options = command, .run = [options, version](const std::stop_token&) {
            const std::string text = options->is_manual_page
                                         ? manual_page(*options->explained, version)
                                         : help_text(*options->explained, columns_of_output());
            std::fputs(text.c_str(), stdout);
          }};
}

}  // namespace infeed::tools
