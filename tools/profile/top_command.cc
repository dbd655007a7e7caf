#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <fmt/format.h>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include <infeed/detail/wait_unless_stopped.h>
#include <infeed/error.h>

#include "cli/command_line.h"
#include "cli/json_text.h"
#include "cli/terminal.h"
#include "profile/live_runs.h"
#include "profile/outputs/profile_figures.h"
#include "profile/outputs/profile_json.h"
#include "profile/profile_report.h"

namespace infeed::tools {
namespace {

constexpr std::size_t kLateShown = 5;
constexpr std::size_t kTuningShown = 5;
// Rates of steps say nothing about a loop that has had none for kStandsStillNs, or for so many steps.
constexpr std::uint64_t kStandsStillSteps = 2;

struct TopCommandOptions {
  std::int64_t process = 0;
  double every_s = 1;
  bool once = false;
  bool json = false;
  bool no_color = false;
};

double percent_of(std::uint64_t part_ns, std::uint64_t whole_ns) {
  return whole_ns == 0 ? 0 : 100 * static_cast<double>(part_ns) / static_cast<double>(whole_ns);
}

std::string queue_text(const RecordedRun& run, int stage) {
  for (const StageWindow& row : run.windows.back().stages) {
    if (row.stage != stage || row.queue_elements_max == 0) continue;
    return fmt::format("{}/{}", row.buffered_elements, row.queue_elements_max);
  }
  return "-";
}

void show_stages(const RecordedRun& run, const ProfileReport& report, Terminal& terminal) {
  const std::uint64_t length_ns = windows_ns(run);
  terminal.line(terminal.paint(
      Paint::dim, fmt::format("  {:<36} {:>12} {:>6} {:>8} {:>6} {:>6} {:>4} {:>12}", "",
                              "elements/s", "cpu", "blocked", "wait", "full", "par", "queue")));
  for (const StageShare& share : report.stages) {
    const RecordedStage& stage = run.stages[static_cast<std::size_t>(share.stage)];
    const std::string line =
        fmt::format("  {:<36} {:>12} {:>4.0f} % {:>6.0f} % {:>4.0f} % {:>4.0f} % {:>4} {:>12}",
                    stage.label, with_commas(static_cast<std::uint64_t>(share.elements_per_s)),
                    percent_of(share.cpu_ns, length_ns), percent_of(share.blocked_ns, length_ns),
                    percent_of(share.wait_ns, length_ns), percent_of(share.full_ns, length_ns),
                    share.parallelism, queue_text(run, share.stage));
    terminal.line(share.is_bottleneck ? terminal.paint(Paint::warning, line) : line);
  }
}

std::string steps_text(const RecordedRun& run, const ProfileReport& report) {
  if (steps_ns(report) == 0) return "no step yet";
  const std::uint64_t since_ns = run.since_last_step_ns();
  const bool stands_still =
      since_ns > std::max(kStandsStillNs, kStandsStillSteps * report.typical_step_ns);
  return fmt::format(
      "{:.4g} steps/s, {:.1f} % waiting for input{}", report.steps_per_s,
      report.input_bound_percent,
      stands_still ? fmt::format(" until the last step, {} ago", duration_text(since_ns)) : "");
}

void show(const RecordedRun& run, Terminal& terminal) {
  if (run.windows.empty()) return;
  const ProfileReport report = explain(run);
  const RecordedWindow& last = run.windows.back();
  terminal.line(terminal.paint(
      Paint::bold, fmt::format("{} (process {}), {:.1f} s: {}, {} held", run.program, run.process,
                               static_cast<double>(last.begin_ns + last.length_ns) / 1e9,
                               steps_text(run, report), as_megabytes(last.memory_bytes))));
  show_stages(run, report, terminal);
  const std::size_t late = report.late_steps.size();
  for (std::size_t i = late - std::min(late, kLateShown); i < late; ++i) {
    terminal.line(fmt::format("  late: step {}: {}", report.late_steps[i].step,
                              report.late_steps[i].sentence));
  }
  const std::size_t changes = run.tuning.size();
  for (std::size_t i = changes - std::min(changes, kTuningShown); i < changes; ++i) {
    terminal.line("  tuner: " + run.tuning[i].text);
  }
}

void run_top(const TopCommandOptions& options, const std::stop_token& stop) {
  Terminal terminal(stdout, {.colours = !options.no_color});
  bool has_shown = false;
  while (!stop.stop_requested()) {
    std::vector<RecordedRun> runs;
    try {
      runs = live_runs(options.process);
    } catch (const Error& error) {
      const bool has_ended = error.code() != ErrorCode::permission_denied;
      if (!has_shown || !has_ended) throw;
      terminal.line(fmt::format("process {} shows no more", options.process));
      return;
    }
    if (options.json) {
      nlohmann::ordered_json all = nlohmann::ordered_json::array();
      for (const RecordedRun& run : runs) all.push_back(profile_json(run, explain(run)));
      std::fputs(json_text(all).c_str(), stdout);
    } else {
      if (terminal.is_live() && !options.once) std::fputs("\x1b[H\x1b[2J", stdout);
      for (const RecordedRun& run : runs) show(run, terminal);
    }
    std::fflush(stdout);
    if (options.once) return;
    has_shown = true;
    infeed::detail::wait_unless_stopped(std::chrono::duration<double>(options.every_s), stop);
  }
}

}  // namespace

Command add_top_command(CLI::App& app) {
  const auto options = std::make_shared<TopCommandOptions>();
  CLI::App* const command =
      app.add_subcommand("top", "Look at the stages of a running training process");
  command->add_option("PID", options->process, "The process, started with INFEED_TOP=1")
      ->required();
  command->add_option("--every", options->every_s, "Seconds between two looks")
      ->check(CLI::Range(0.1, 3600.0))
      ->capture_default_str()
      ->type_name("S");
  command->add_flag("--once", options->once, "Look once");
  command->add_flag("--json", options->json, "Print JSON, as infeed profile --json writes it");
  command->add_flag("--no-color", options->no_color, "No colours");
  command->footer(
      "Example: INFEED_TOP=1 ./train & infeed top $!\n"
      "It shows the last seconds. The process writes a page in memory, which only its "
      "own user can read, and is neither stopped nor slowed down by a look.\n");
  return {.options = command, .run = [options](std::stop_token stop) { run_top(*options, stop); }};
}

}  // namespace infeed::tools
