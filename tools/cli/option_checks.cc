#include "cli/option_checks.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <filesystem>
#include <fmt/format.h>

#include <infeed/detail/parse_whole.h>
#include <infeed/error.h>
#include <infeed/records/detail/nearest_names.h>
#include <infeed/records/files.h>

#include "cli/side_file.h"

namespace infeed::tools {
namespace {

namespace fs = std::filesystem;

constexpr std::array kReports{"--json", "--html", "--trace", "--svg", "--service-times"};

/// False for the flag of a command that prints JSON.
bool is_report(const CLI::Option& option) {
  if (option.get_expected_max() == 0) return false;
  return std::any_of(kReports.begin(), kReports.end(),
                     [&](const char* name) { return option.check_name(name); });
}

bool takes_files(const CLI::Option& option) {
  return option.get_positional() || option.get_type_name() == "FILE" || is_report(option);
}

/// False for devices and pipes, which may well be written twice.
bool is_same_file(const fs::path& one, const fs::path& other) {
  std::error_code ignored;
  if (!fs::exists(one, ignored)) return one.lexically_normal() == other.lexically_normal();
  return fs::is_regular_file(one, ignored) && fs::equivalent(one, other, ignored);
}

/// Returns the files that an argument means: those of a pattern, or the one of that name.
std::vector<std::string> files_meant(const std::string& argument) try {
  if (argument.find_first_of("*?[{") == std::string::npos || is_url(argument)) return {argument};
  return match_files(argument);
} catch (const Error&) {  // whoever reads it says more
  return {};
}

/// True if an argument of the option means the file.
bool names_file(const CLI::Option& option, const std::string& file) {
  return takes_files(option) &&
         std::ranges::any_of(option.results(), [&](const std::string& argument) {
           return std::ranges::any_of(files_meant(argument), [&](const std::string& one) {
             return is_same_file(file, one);
           });
         });
}

/// Returns what is wrong with `text`; empty if it is allowed. "128MB" begins with a number, too.
std::string complaint_about_count(const std::string& text) {
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error == std::errc::result_out_of_range) {
    return fmt::format("{} is too large: at most 2^64 - 1 is possible", text);
  }
  if (error == std::errc()) return {};
  return fmt::format("'{}' is given, but a whole number, 0 or more, is expected", text);
}

std::string complaint_about(const std::string& text, const std::string& type) {
  if (text.empty()) return "an empty text is given; leave the option out, or name something";
  if (type.starts_with("UINT") || type.starts_with("BYTES")) return complaint_about_count(text);
  // An option with a name for its values ("US") still has the type in its range.
  if (type.find("FLOAT") == type.npos || finite_number(text)) return {};
  return fmt::format("'{}' is given, but a number is expected", text);
}

}  // namespace

std::optional<double> finite_number(std::string_view text) {
  double number = 0;
  if (!detail::parse_whole(text, number) || !std::isfinite(number)) return std::nullopt;
  return number;
}

CLI::Validator is_positive() {
  return {[](const std::string& text) -> std::string {
            const bool is_zero = text.find_first_not_of("0") == std::string::npos;
            return is_zero ? fmt::format("{} is given, but at least 1 is expected", text) : "";
          },
          ""};
}

void refuse_senseless_values(CLI::App& command) {
  for (CLI::Option* const option : command.get_options()) {
    if (option->get_expected_max() == 0) continue;  // a flag
    // A transform runs before everything else that changes or checks the text.
    option->transform(CLI::Validator(
        [type = option->get_type_name()](std::string& text) { return complaint_about(text, type); },
        ""));
  }
}

std::optional<std::string> report_in_use(const CLI::App& command) {
  const std::vector<const CLI::Option*> options = command.get_options();
  for (const CLI::Option* const report : options) {
    if (report->count() == 0 || !is_report(*report)) continue;
    const std::string file = report->results().back();
    const auto other = std::ranges::find_if(options, [&](const CLI::Option* option) {
      return option != report && names_file(*option, file);
    });
    if (other != options.end()) {
      return fmt::format("{} would write over '{}', which is given as {}, too; name another file",
                         report->get_name(), file, (*other)->get_name());
    }
    if (is_dataset_file_name(file)) {
      return fmt::format(
          "{} names '{}', which is how a dataset's own files are called (shards, their indices, "
          "the manifest); name another file, such as report.json",
          report->get_name(), file);
    }
  }
  return std::nullopt;
}

std::optional<std::string> unknown_option(const CLI::App& command) {
  for (const std::string& word : command.remaining()) {
    if (word.size() > 1 && word.starts_with('-')) return word.substr(0, word.find('='));
  }
  return std::nullopt;
}

std::vector<std::string> option_names(const CLI::App& command) {
  std::vector<std::string> names;
  for (const CLI::Option* const option : command.get_options()) {
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
  }
  return names;
}

std::string suggestion(std::string_view typed, const std::vector<std::string>& names) {
  const std::string* nearest = nullptr;
  std::size_t least = std::max<std::size_t>(1, typed.size() / 4) + 1;
  for (const std::string& name : names) {
    // The beginning of a name is near to it, however much is missing.
    const bool is_begin = typed.size() > 4 && name.starts_with(typed);
    const std::size_t distance = is_begin ? 0 : detail::edit_distance(typed, name);
    if (distance >= least) continue;
    least = distance;
    nearest = &name;
  }
  return nearest == nullptr ? "" : fmt::format("; did you mean {}?", *nearest);
}

}  // namespace infeed::tools
