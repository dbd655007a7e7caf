#include <CLI/CLI.hpp>
#include <cstdio>
#include <fmt/format.h>
#include <memory>
#include <string_view>
#include <vector>

#include "cli/command_line.h"
#include "cli/option_checks.h"
#include "cli/option_text.h"

namespace infeed::tools {
namespace {

std::string with_each(std::string_view text, char wanted, std::string_view by) {
  std::string result;
  for (const char c : text) {
    if (c == wanted) {
      result += by;
    } else {
      result += c;
    }
  }
  return result;
}

/// Returns a word of the shell that stands for the text.
std::string shell_word(std::string_view text) {
  return "'" + with_each(text, '\'', R"('\'')") + "'";
}

std::string joined(const std::vector<std::string>& words, std::string_view between) {
  return fmt::format("{}", fmt::join(words, between));
}

std::vector<std::string> command_names(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::App* const command : commands_of(app)) names.push_back(command->get_name());
  return names;
}

/// Returns the values to choose from; none where any text may stand.
std::vector<std::string> offered_values(const CLI::App& app, const CLI::Option& option) {
  if (name_of(option).value == "COMMAND") return command_names(app);
  return choices_of(option);
}

std::vector<std::string> option_words(const std::vector<const CLI::Option*>& options) {
  std::vector<std::string> names;
  for (const CLI::Option* const option : options) {
    for (const std::string& name : name_of(*option).names) names.push_back(name);
  }
  return names;
}

/// Appends `PATTERN) variable='words' ;;` in a case of bash; nothing if there are no words.
void append_case(std::string& out, std::string_view indent, std::string_view pattern,
                 std::string_view variable, const std::vector<std::string>& words) {
  if (words.empty()) return;
  out += fmt::format("{}{}) {}={} ;;\n", indent, pattern, variable, shell_word(joined(words, " ")));
}

void append_bash_command(std::string& out, const CLI::App& app, const CLI::App& command) {
  const auto options = options_of(command);
  out += fmt::format("    {})\n", command.get_name());
  out += fmt::format("      options={}\n", shell_word(joined(option_words(options), " ")));
  for (const CLI::Option* const option : positionals_of(command)) {
    const auto values = offered_values(app, *option);
    if (!values.empty()) out += fmt::format("      values={}\n", shell_word(joined(values, " ")));
  }
  out += "      case $before in\n";
  std::vector<std::string> free;  // options behind which any text may stand
  for (const CLI::Option* const option : options) {
    const OptionName name = name_of(*option);
    if (name.value.empty()) continue;
    const auto values = offered_values(app, *option);
    if (values.empty()) free.insert(free.end(), name.names.begin(), name.names.end());
    append_case(out, "        ", joined(name.names, "|"), "options=''; values", values);
  }
  if (!free.empty()) out += fmt::format("        {}) options='' values='' ;;\n", joined(free, "|"));
  out += "      esac\n      ;;\n";
}

/// Returns `'(-o --output)--output=[what it does]:DIR:_files'`.
std::string zsh_option(const CLI::App& app, const CLI::Option& option, const std::string& name) {
  const OptionName all = name_of(option);
  const bool may_repeat = option.get_items_expected_max() > 1;
  std::string spec = may_repeat ? "*" : "(" + joined(all.names, " ") + ")";
  spec += name;
  if (!all.value.empty() && name.starts_with("--")) spec += '=';
  spec += "[" + with_each(description_of(option), ']', "\\]") + "]";
  if (all.value.empty()) return shell_word(spec);
  const auto values = offered_values(app, option);
  spec += ":" + with_each(all.value, ':', "\\:") + ":";
  spec += values.empty() ? "_files" : "(" + joined(values, " ") + ")";
  return shell_word(spec);
}

void append_zsh_command(std::string& out, const CLI::App& app, const CLI::App& command) {
  out += fmt::format("    {})\n      _arguments -s", command.get_name());
  for (const CLI::Option* const option : options_of(command)) {
    for (const std::string& name : name_of(*option).names) {
      out += " \\\n        " + zsh_option(app, *option, name);
    }
  }
  for (const CLI::Option* const option : positionals_of(command)) {
    const auto values = offered_values(app, *option);
    const std::string action = values.empty() ? "_files" : "(" + joined(values, " ") + ")";
    const bool takes_many = option->get_items_expected_max() > 1;
    out += " \\\n        " +
           shell_word(fmt::format("{}:{}:{}", takes_many ? "*" : "",
                                  with_each(name_of(*option).value, ':', "\\:"), action));
  }
  out += "\n      ;;\n";
}

struct CompletionOptions {
  std::string shell = {};
};

/// Returns the script that completes this program's command line in bash: commands, options, the
/// values of options that have a list of them, and names of files for the rest.
std::string bash_completion(const CLI::App& app) {
  const std::string name = app.get_name();
  std::string out = fmt::format(R"(# Completion of {0} in bash, printed by `{0} completion bash`.
_{0}() {{
  local word=${{COMP_WORDS[COMP_CWORD]}} before=${{COMP_WORDS[COMP_CWORD - 1]}} options='' values=''
  # bash takes the = of --option=value for a word of its own.
  if [[ $word == = ]]; then
    word=''
  elif [[ $before == = ]]; then
    before=${{COMP_WORDS[COMP_CWORD - 2]}}
  fi
  if ((COMP_CWORD == 1)); then
    values={1} options={2}
  else case ${{COMP_WORDS[1]}} in
)",
                                name, shell_word(joined(command_names(app), " ")),
                                shell_word(joined(option_words(options_of(app)), " ")));
  for (const CLI::App* const command : commands_of(app)) append_bash_command(out, app, *command);
  out += fmt::format(R"(  esac; fi
  [[ $word == -* ]] || options=''
  # shellcheck disable=SC2207 # no word has a blank
  COMPREPLY=($(compgen -W "$values $options" -- "$word"))
}}
complete -o bashdefault -o default -F _{0} {0}
)",
                     name);
  return out;
}

/// Returns the same for zsh, with the descriptions. It works sourced, and as a file in $fpath.
std::string zsh_completion(const CLI::App& app) {
  const std::string name = app.get_name();
  std::string out = fmt::format(R"(#compdef {0}
# Completion of {0} in zsh, printed by `{0} completion zsh`.
_{0}() {{
  if ((CURRENT == 2)); then
    local -a commands=(
)",
                                name);
  for (const CLI::App* const command : commands_of(app)) {
    out += fmt::format("      {}\n", shell_word(command->get_name() + ":" +
                                                with_each(command->get_description(), ':', "\\:")));
  }
  out += R"(    )
    _describe command commands
    return
  fi
  shift words
  ((CURRENT--))
  case $words[1] in
)";
  for (const CLI::App* const command : commands_of(app)) append_zsh_command(out, app, *command);
  out += fmt::format(R"(  esac
}}
if [[ $funcstack[1] == _{0} ]]; then
  _{0} "$@"
else
  compdef _{0} {0}
fi
)",
                     name);
  return out;
}

}  // namespace

Command add_completion_command(CLI::App& app) {
  const auto options = std::make_shared<CompletionOptions>();
  CLI::App* const command = app.add_subcommand(
      "completion", "Print the script with which a shell completes commands, options and values");
  command->add_option("SHELL", options->shell, "The shell")
      ->required()
      ->check(one_of({"bash", "zsh"}))
      ->type_name("SHELL");
  command->footer("Example: source <(infeed completion bash)\n");
  return {.options = command, .run = [&app, options](const std::stop_token&) {
            const std::string text =
                options->shell == "bash" ? bash_completion(app) : zsh_completion(app);
            std::fputs(text.c_str(), stdout);
          }};
}

}  // namespace infeed::tools
