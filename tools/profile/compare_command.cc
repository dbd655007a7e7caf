#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include <infeed/error.h>
#include <infeed/records/output_file.h>

#include "cli/command_line.h"
#include "cli/json_text.h"
#include "cli/terminal.h"
#include "profile/run_comparison.h"

namespace infeed::tools {
namespace {

struct CompareCommandOptions {
  std::string before;
  std::string after;
  std::vector<std::string> fail_if;
  std::string json_file;
  bool shows_all = false;
  bool no_color = false;
};

void print_figures(const RunComparison& comparison, bool shows_all, Terminal& terminal) {
  terminal.line(fmt::format("{:<44} {:>12} {:>12} {:>9}  {}", "", "before", "after", "change",
                            "more than noise"));
  std::size_t unchanged = 0;
  for (const ComparedFigure& figure : comparison.figures()) {
    if (!figure.is_changed && !shows_all) {
      ++unchanged;
      continue;
    }
    const std::string line =
        fmt::format("{:<44} {:>12.4g} {:>12.4g} {:>+7.1f} %  {}", figure.name, figure.before,
                    figure.after, figure.change_percent(),
                    figure.is_changed ? "yes" : fmt::format("no (+-{:.3g})", figure.noise));
    terminal.line(figure.is_changed ? terminal.paint(Paint::bold, line) : line);
  }
  if (unchanged != 0) {
    terminal.line(
        fmt::format("{} figures differ by no more than they do within a run (--all shows "
                    "them)",
                    unchanged));
  }
}

void write_json(const RunComparison& comparison, const std::string& file) {
  nlohmann::ordered_json figures = nlohmann::ordered_json::array();
  for (const ComparedFigure& figure : comparison.figures()) {
    figures.push_back({{"name", figure.name},
                       {"before", figure.before},
                       {"after", figure.after},
                       {"change_percent", figure.change_percent()},
                       {"noise", figure.noise},
                       {"is_changed", figure.is_changed}});
  }
  replace_file(file, json_text(nlohmann::ordered_json{{"schema", "infeed.compare"},
                                                      {"schema_version", 1},
                                                      {"infeed_version", INFEED_VERSION},
                                                      {"figures", figures}}));
}

/// A condition that can't be judged is wrong usage, so that no script takes it for one that holds.
bool holds(const RunComparison& comparison, const std::string& condition) try {
  return comparison.holds(condition);
} catch (const Error& error) {
  throw CLI::ValidationError(error.message());
}

void run_compare(const CompareCommandOptions& options, const std::stop_token& stop) {
  if (!options.json_file.empty()) check_can_write(options.json_file);
  const RunComparison comparison(read_recorded_run(options.before, stop),
                                 read_recorded_run(options.after, stop), stop);
  Terminal terminal(stdout, {.colours = !options.no_color});
  print_figures(comparison, options.shows_all, terminal);
  if (!options.json_file.empty()) write_json(comparison, options.json_file);
  std::string failed;
  for (const std::string& condition : options.fail_if) {
    if (holds(comparison, condition)) failed += (failed.empty() ? "'" : ", '") + condition + "'";
  }
  if (!failed.empty()) {
    throw Error(ErrorCode::failed_precondition, "--fail-if is true of this recording: " + failed)
        .at_file(options.after);
  }
}

}  // namespace

Command add_compare_command(CLI::App& app) {
  const auto options = std::make_shared<CompareCommandOptions>();
  CLI::App* const command =
      app.add_subcommand("compare", "Say what has changed between two recorded runs");
  command->add_option("BEFORE", options->before, "A recording")->required();
  command->add_option("AFTER", options->after, "Another one")->required();
  command
      ->add_option("--fail-if", options->fail_if,
                   "Exit status 1 when this is true of AFTER, such as 'input_bound_percent > 5' or "
                   "'steps_per_s_change_percent < -5'; may be given several times")
      ->type_name("CONDITION");
  command->add_option("--json", options->json_file, "Write the figures to FILE")->type_name("FILE");
  command->add_flag("--all", options->shows_all, "Show also what has not changed");
  command->add_flag("--no-color", options->no_color, "No colours");
  command->footer(
      "Example: infeed compare last-week.profile today.profile --fail-if 'late_steps > 10'\n"
      "A figure has changed when it differs by more than two standard errors of what ten stretches "
      "of each run differ by, and by 2 %.\n");
  return {.options = command,
          .run = [options](const std::stop_token& stop) { run_compare(*options, stop); }};
}

}  // namespace infeed::tools
