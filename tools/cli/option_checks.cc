#include "cli/option_checks.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cctype>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <fmt/format.h>

#include <infeed/detail/parse_whole.h>
#include <infeed/records/detail/nearest_names.h>

namespace infeed::tools {
namespace {

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
