#include "cli/option_text.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <fmt/format.h>
#include <regex>
#include <set>

namespace infeed::tools {
namespace {

bool is_text_of_validator(std::string_view text) {
  return text.starts_with('{') || text.starts_with("SIZE [") || text.find(" in [") != text.npos ||
         text.ends_with("POSITIVE");
}

/// CLI11 keeps the values that an option takes as "NAME:a validator's text". Any other colon is the
/// name's own: "SLICE[:MODEL]".
struct TypeName {
  std::string placeholder;
  std::string rule;
};

TypeName type_name_of(const CLI::Option& option) {
  const std::string text = option.get_type_name();
  std::size_t colon = text.find(':');
  if (colon != text.npos && !is_text_of_validator(std::string_view(text).substr(colon + 1)))
    colon = text.npos;
  TypeName type{text.substr(0, colon), colon == std::string::npos ? "" : text.substr(colon + 1)};
  if (type.placeholder == "UINT" || type.placeholder == "INT") type.placeholder = "N";
  if (type.placeholder == "FLOAT") type.placeholder = "NUMBER";
  return type;
}

/// Returns {"b", "a"} for "{b,a}".
std::vector<std::string> choices_of(const TypeName& type) {
  std::vector<std::string> choices;
  if (!type.rule.starts_with('{')) return choices;
  std::string_view list = std::string_view(type.rule).substr(1, type.rule.find('}') - 1);
  while (!list.empty()) {
    choices.emplace_back(list.substr(0, list.find(',')));
    list.remove_prefix(std::min(choices.back().size() + 1, list.size()));
  }
  return choices;
}

/// Returns "b, a" for "{b,a}", or "1 to 9" for "INT in [1 - 9]".
std::string limits_of(const TypeName& type) {
  static const std::regex range(R"(.*(?:INT|FLOAT) in \[(\S+) - (\S+)\].*)");
  std::smatch found;
  if (const auto choices = choices_of(type); !choices.empty()) {
    return fmt::format("{}", fmt::join(choices, ", "));
  }
  if (std::regex_match(type.rule, found, range)) return found.str(1) + " to " + found.str(2);
  return type.rule.ends_with("POSITIVE") ? "above 0" : "";
}

std::string joined_names(const std::set<CLI::Option*>& options) {
  std::set<std::string> names;  // sorted: CLI11's set is in the order of addresses
  for (const CLI::Option* const option : options) names.insert(option->get_name());
  return fmt::format("{}", fmt::join(names, ", "));
}

bool is_flag(const CLI::Option& option) { return option.get_type_size_max() == 0; }

}  // namespace

std::vector<std::string> choices_of(const CLI::Option& option) {
  return choices_of(type_name_of(option));
}

OptionName name_of(const CLI::Option& option) {
  OptionName result;
  for (const std::string& name : option.get_snames()) result.names.push_back("-" + name);
  for (const std::string& name : option.get_lnames()) result.names.push_back("--" + name);
  if (option.get_positional()) {
    const bool takes_many = option.get_items_expected_max() > 1;
    result.value = option.get_name(true) + (takes_many ? "..." : "");
  } else if (!is_flag(option)) {
    result.value = type_name_of(option).placeholder;
  }
  return result;
}

std::string description_of(const CLI::Option& option) {
  std::vector<std::string> remarks;
  if (const std::string limits = limits_of(type_name_of(option)); !limits.empty()) {
    remarks.push_back(limits);
  }
  if (option.get_required() && !option.get_positional()) remarks.emplace_back("required");
  if (!option.get_default_str().empty()) remarks.push_back("default " + option.get_default_str());
  if (!option.get_needs().empty()) remarks.push_back("with " + joined_names(option.get_needs()));
  if (!option.get_excludes().empty()) {
    remarks.push_back("not with " + joined_names(option.get_excludes()));
  }
  if (remarks.empty()) return option.get_description();
  return fmt::format("{} ({})", option.get_description(), fmt::join(remarks, "; "));
}

std::vector<const CLI::Option*> positionals_of(const CLI::App& app) {
  return app.get_options([](const CLI::Option* option) {
    return !option->get_group().empty() && option->get_positional();
  });
}

std::vector<const CLI::Option*> options_of(const CLI::App& app) {
  return app.get_options([](const CLI::Option* option) {
    return !option->get_group().empty() && option->nonpositional();
  });
}

std::vector<const CLI::App*> commands_of(const CLI::App& app) {
  return app.get_subcommands([](const CLI::App* command) { return !command->get_group().empty(); });
}

std::string usage_of(const CLI::App& app) {
  const CLI::App* const parent = app.get_parent();
  std::string result = parent == nullptr ? app.get_name() : parent->get_name();
  if (parent != nullptr) result += " " + app.get_name();
  if (!commands_of(app).empty()) return result + " COMMAND [OPTION]...";
  result += " [OPTION]...";
  for (const CLI::Option* const option : positionals_of(app)) {
    const std::string value = name_of(*option).value;
    result += option->get_required() ? " " + value : " [" + value + "]";
  }
  return result;
}

std::vector<std::string> lines_of(std::string_view text) {
  std::vector<std::string> lines;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    lines.emplace_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  while (!lines.empty() && lines.back().empty()) lines.pop_back();
  return lines;
}

bool is_example(std::string_view line) {
  return line.starts_with("Example") || line.starts_with(' ');
}

}  // namespace infeed::tools
