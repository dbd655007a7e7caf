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
#include <nlohmann/json.hpp>

#include <infeed/detail/parse_whole.h>
#include <infeed/error.h>
#include <infeed/records/detail/json_depth.h>
#include <infeed/records/detail/nearest_names.h>
#include <infeed/records/file.h>
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

/// True if one of the arguments means the file.
bool mean_file(const std::vector<std::string>& arguments, const std::string& file) {
  return std::ranges::any_of(arguments, [&](const std::string& argument) {
    return std::ranges::any_of(files_meant(argument),
                               [&](const std::string& one) { return is_same_file(file, one); });
  });
}

/// Returns all texts of a pipeline in JSON, among which are the files that it reads; none if it can't
/// be read, about which the command says more.
std::vector<std::string> texts_of_pipeline(const std::string& pipeline) try {
  std::error_code ignored;
  if (!fs::is_regular_file(pipeline, ignored)) return {};  // a pipe can be read only once
  const std::string json = read_file(pipeline);
  if (detail::exceeds_json_limits(json)) return {};
  std::vector<std::string> texts;
  for (const auto& value : nlohmann::json::parse(json).flatten()) {
    if (value.is_string()) texts.push_back(value.get<std::string>());
  }
  return texts;
} catch (const Error&) {
  return {};
} catch (const nlohmann::json::exception&) {
  return {};
}

/// True if the option's pipeline reads the file, which is there.
bool pipeline_reads(const CLI::Option& option, const std::string& file) {
  std::error_code ignored;
  return option.check_name("--pipeline") && option.count() > 0 &&
         fs::is_regular_file(file, ignored) &&
         mean_file(texts_of_pipeline(option.results().back()), file);
}

/// Returns how the file is used by an argument of the option: "which is given as FILE, too"; nothing if
/// it isn't.
std::optional<std::string> use_of(const CLI::Option& option, const std::string& file) {
  if (takes_files(option) && mean_file(option.results(), file)) {
    return fmt::format("which is given as {}, too", option.get_name());
  }
  if (pipeline_reads(option, file)) return "which the pipeline names";
  return std::nullopt;
}

bool is_size(const std::string& type) { return type.starts_with("BYTES"); }

bool is_count(const std::string& type) {
  // An option with a name for its values ("US") still has the type in its range.
  return type.starts_with("UINT") || type.starts_with("INT") || type.find("INT in [") != type.npos;
}

/// Takes leading zeros away: CLI11 would read 010 as an octal number.
void drop_leading_zeros(std::string& text) {
  const auto is_digit = [](unsigned char letter) { return std::isdigit(letter) != 0; };
  while (text.size() > 1 && text[0] == '0' && is_digit(text[1])) text.erase(0, 1);
}

/// Returns what is wrong with `text`; empty if it is allowed. A size may have a unit: "128MB".
std::string complaint_about_count(const std::string& text, const std::string& type) {
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error == std::errc::result_out_of_range) {
    if (type.find(" in [") != type.npos) return {};  // whose check tells the limits
    return fmt::format("{} is too large: at most 2^64 - 1 is possible", text);
  }
  const std::string_view rest(end, text.data() + text.size());
  const bool is_unit = std::ranges::all_of(
      rest, [](unsigned char letter) { return std::isalpha(letter) || letter == ' '; });
  if (error == std::errc() && (rest.empty() || (is_size(type) && is_unit))) return {};
  return fmt::format("'{}' is given, but a whole number, 0 or more, is expected{}", text,
                     is_size(type) ? ", with a unit or without (1536MiB)" : "");
}

/// Returns what is wrong with `text`, which it may write as CLI11 reads it; empty if it is allowed.
std::string complaint_about(std::string& text, const std::string& type) {
  if (text.empty()) return "an empty text is given; leave the option out, or name something";
  if (is_count(type) || is_size(type)) {
    drop_leading_zeros(text);
    return complaint_about_count(text, type);
  }
  if (type.find("FLOAT") == type.npos || finite_number(text)) return {};
  return fmt::format("'{}' is given, but a number is expected", text);
}

}  // namespace

CLI::Validator parsed_by(std::function<void(const std::string&)> parse) {
  return {[parse = std::move(parse)](const std::string& text) -> std::string {
            try {
              parse(text);
              return {};  // CLI11 takes it as "valid"
            } catch (const Error& error) {
              return error.message();
            }
          },
          ""};
}

std::optional<double> finite_number(std::string_view text) {
  double number = 0;
  if (!detail::parse_whole(text, number) || !std::isfinite(number)) return std::nullopt;
  return number;
}

CLI::Validator one_of(const std::vector<std::string>& choices) {
  return {[choices](const std::string& text) -> std::string {
            if (std::ranges::find(choices, text) != choices.end()) return {};
            return fmt::format("'{}' is given, but one of {} is expected{}", text,
                               fmt::join(choices, ", "), suggestion(text, choices));
          },
          fmt::format("{{{}}}", fmt::join(choices, ","))};
}

CLI::Validator is_positive() {
  return {[](const std::string& text) -> std::string {
            const bool is_zero = text.find_first_not_of("0") == std::string::npos;
            return is_zero ? fmt::format("{} is given, but at least 1 is expected", text) : "";
          },
          ""};
}

CLI::Validator is_positive_number() {
  return {[](const std::string& text) -> std::string {
            if (finite_number(text).value_or(0) > 0) return {};
            return fmt::format("{} is given, but a number above 0 is expected", text);
          },
          "POSITIVE"};
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
    for (const CLI::Option* const option : options) {
      const auto use = option == report ? std::nullopt : use_of(*option, file);
      if (!use) continue;
      return fmt::format("{} would write over '{}', {}; name another file", report->get_name(),
                         file, *use);
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
    if (word == "--") break;  // behind it stand no options
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
