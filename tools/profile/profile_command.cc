#include <CLI/CLI.hpp>
#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <fmt/format.h>
#include <map>
#include <memory>
#include <optional>
#include <signal.h>
#include <spawn.h>
#include <string>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

#include <infeed/error.h>
#include <infeed/records/file.h>
#include <infeed/records/output_file.h>

#include "cli/command_line.h"
#include "cli/side_file.h"
#include "cli/stop_on_signal.h"
#include "cli/terminal.h"
#include "profile/described_pipeline.h"
#include "profile/outputs/profile_outputs.h"
#include "profile/outputs/profile_text.h"
#include "profile/profile_report.h"
#include "profile/ranks/rank_table.h"
#include "profile/replay.h"
#include "profile/tried_advice.h"

extern char** environ;  // NOLINT: POSIX has it in no header

namespace infeed::tools {
namespace {

struct ProfileCommandOptions {
  std::string recording;
  std::vector<std::string> program;
  std::string pipeline_file;
  double seconds = 5;
  bool tries = false;
  std::vector<std::string> replays;
  ProfileOutputs outputs;
  bool no_color = false;
};

/// Runs the program with INFEED_PROFILE, and returns its exit status, as a shell has it. One that failed is
/// explained as long as it has recorded something: its run is worth a look, too.
int record_program(std::vector<std::string> program, const std::string& recording, bool tries,
                   const std::stop_token& stop) {
  ::setenv("INFEED_PROFILE", recording.c_str(), 1);  // NOLINT(concurrency-mt-unsafe)
  if (tries) ::setenv("INFEED_TRY", "1", 1);         // NOLINT(concurrency-mt-unsafe)
  std::vector<char*> arguments;
  for (std::string& argument : program) arguments.push_back(argument.data());
  arguments.push_back(nullptr);
  // This program's threads have signals blocked, and it ignores SIGXFSZ. The other one is not to
  // inherit that.
  posix_spawnattr_t attributes;
  sigset_t none;
  sigemptyset(&none);
  sigset_t ignored;
  sigemptyset(&ignored);
  sigaddset(&ignored, SIGXFSZ);
  ::posix_spawnattr_init(&attributes);
  ::posix_spawnattr_setsigmask(&attributes, &none);
  ::posix_spawnattr_setsigdefault(&attributes, &ignored);
  ::posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
  pid_t child = 0;
  const int failed =
      ::posix_spawnp(&child, arguments[0], nullptr, &attributes, arguments.data(), environ);
  ::posix_spawnattr_destroy(&attributes);
  if (failed != 0) throw system_error("run", program.front(), failed);
  const std::stop_callback end(stop, [child] { ::kill(child, SIGTERM); });
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  Terminal said(stderr);
  if (WIFSIGNALED(status)) {
    said.line(fmt::format("infeed: {} was ended by signal {}", program.front(), WTERMSIG(status)));
    return 128 + WTERMSIG(status);
  }
  if (WEXITSTATUS(status) != 0) {
    said.line(fmt::format("infeed: {} ended with status {}", program.front(), WEXITSTATUS(status)));
  }
  return WEXITSTATUS(status);
}

/// Returns when each recording of that name was last written: its own, and those of ranks.
std::map<std::string, std::filesystem::file_time_type> times_of(const std::string& recording) {
  std::vector<std::string> files = {recording};
  for (const RankFile& rank : rank_recordings(recording)) files.push_back(rank.file);
  std::map<std::string, std::filesystem::file_time_type> times;
  for (const std::string& file : files) {
    std::error_code missing;
    const auto time = std::filesystem::last_write_time(file, missing);
    if (!missing) times[file] = time;
  }
  return times;
}

/// Throws Error (invalid_argument) if there is nothing that --try could change.
void check_what_is_tried(const ProfileCommandOptions& options) {
  if (!options.tries || !options.pipeline_file.empty() || !options.program.empty()) return;
  throw Error(
      ErrorCode::invalid_argument,
      "--try needs something to run: a pipeline in JSON (--pipeline FILE), in which it makes "
      "what is advised, or a program (-- PROGRAM), which tries other settings of what it "
      "marks autotune while it runs");
}

/// Returns the recording. If there are those of several ranks, prints their table, and returns that
/// of the rank for which the others waited.
RecordedRun recorded_run(const std::string& recording, Terminal& terminal,
                         const std::stop_token& stop) {
  RecordedJob job = read_recorded_job(recording, stop);
  if (!job.note.empty()) terminal.line(job.note);
  if (job.alone) return std::move(*job.alone);
  const RankTable table = compare_ranks(job.ranks);
  for (const std::string& line : table.lines) terminal.line(line);
  terminal.line();
  return std::move(job.ranks[table.slowest].run);
}

/// Throws Error before a program runs, perhaps for hours, if what comes of it can't be written.
/// Folders for TensorBoard and XProf are made later; a recording that is there may be replaced.
void check_can_record(const ProfileCommandOptions& options) {
  const ProfileOutputs& outputs = options.outputs;
  for (const std::string* const file :
       {&options.recording, &outputs.json, &outputs.html, &outputs.trace}) {
    if (!file->empty()) check_can_write(*file);
  }
}

/// Returns the exit status of the program, if there is one.
int run_profile(const ProfileCommandOptions& options, std::stop_token stop) {
  std::vector<ReplayRequest> replays;  // before anything is run: they may be misspelt
  for (const std::string& text : options.replays) replays.push_back(ReplayRequest::parse(text));
  check_what_is_tried(options);
  if (!options.program.empty() || !options.pipeline_file.empty()) check_can_record(options);
  int status = 0;
  if (!options.program.empty()) {
    const auto before = times_of(options.recording);
    status = record_program(options.program, options.recording, options.tries, stop);
    if (times_of(options.recording) == before) {
      throw Error(ErrorCode::failed_precondition,
                  fmt::format("{} iterated no dataset, or could not write its recording{}",
                              options.program.front(),
                              before.empty() ? "" : "; what is there is an older one"))
          .at_file(options.recording);
    }
    // Ctrl-C ends the program, and what it recorded is still explained; another one ends that, too.
    if (stop.stop_requested()) stop = {};
  }
  std::optional<DescribedPipeline> pipeline;
  if (!options.pipeline_file.empty()) {
    pipeline =
        DescribedPipeline::parse(read_stream(options.pipeline_file, stop), options.pipeline_file);
    run_described(*pipeline, options.seconds, options.recording, stop);
  }
  Terminal terminal(stdout, {.colours = !options.no_color});
  const RecordedRun run = recorded_run(options.recording, terminal, stop);
  ProfileReport report = explain(run, stop);
  report.program_tries = options.tries && !options.program.empty();
  if (options.tries && pipeline) try_advice(*pipeline, options.seconds, stop, report);
  for (const ReplayRequest& request : replays) {
    throw_if_stopped(stop, "the run was replayed");
    report.replays.push_back(replay(run, request));
  }
  for (const std::string& line : profile_text(run, report, terminal)) terminal.line(line);
  throw_if_stopped(stop, "the outputs were written");
  write_profile_outputs(run, report, options.outputs, stop);
  return status;
}

}  // namespace

Command add_profile_command(CLI::App& app) {
  const auto options = std::make_shared<ProfileCommandOptions>();
  CLI::App* const command =
      app.add_subcommand("profile", "Say why a training run waited for its input, to the record");
  command
      ->add_option("RECORDING", options->recording,
                   "The recording that INFEED_PROFILE=FILE made a program write; with PROGRAM or "
                   "--pipeline it is written first")
      ->required();
  command->add_option("PROGRAM", options->program,
                      "Behind --: a program to be run and recorded first, with its arguments");
  auto* const pipeline = command
                             ->add_option("--pipeline", options->pipeline_file,
                                          "A pipeline in JSON, to be run and recorded first")
                             ->type_name("FILE");
  pipeline->excludes("PROGRAM");
  command->add_option("--seconds", options->seconds, "How long that runs")
      ->check(CLI::Range(0.1, 86400.0))
      ->capture_default_str()
      ->type_name("S")
      ->needs(pipeline);
  command->add_flag(
      "--try", options->tries,
      "Make what is advised, as far as the pipeline's file has it, measure it against the "
      "pipeline as it is, by turns, and say what came of it; a PROGRAM tries settings in itself "
      "while it runs, as with INFEED_TRY=1");
  command
      ->add_option("--replay", options->replays,
                   "Say what the pipeline would do on another slice, with the recorded step or a "
                   "model's, and a global batch; may be given several times")
      ->type_name("SLICE[:MODEL[:BATCH]]")
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  command->add_option("--json", options->outputs.json, "Write all figures to FILE")
      ->type_name("FILE");
  command->add_option("--html", options->outputs.html, "Write a report for a browser, in one file")
      ->type_name("FILE");
  command->add_option("--trace", options->outputs.trace, "Write a trace for Perfetto or Chrome")
      ->type_name("FILE");
  command
      ->add_option("--tensorboard", options->outputs.tensorboard,
                   "Write scalars for TensorBoard into a folder")
      ->type_name("FOLDER");
  command
      ->add_option("--xprof", options->outputs.xprof, "Write a profile for XProf into a log folder")
      ->type_name("FOLDER");
  command->add_flag("--no-color", options->no_color, "Print no colours");
  command->footer(
      "Examples: INFEED_PROFILE=run.profile ./train && infeed profile run.profile\n"
      "          infeed profile run.profile -- ./train --epochs 2\n"
      "          infeed profile run.profile --html report.html --trace run.json\n"
      "          infeed profile run.profile --pipeline pipeline.json --try\n"
      "          infeed profile run.profile --try -- ./train\n"
      "          infeed profile run.profile --replay v3-32:resnet50:4096\n"
      "          INFEED_PROFILE=run.profile mpirun -n 4 infeed train && infeed profile "
      "run.profile\n"
      "A recording may be looked at while the program runs, and after it was killed.\n"
      "Exit status: PROGRAM's, if there is one and its run was explained.\n");
  const auto status = std::make_shared<int>(0);
  return {.options = command,
          .run = [options, status](
                     std::stop_token stop) { *status = run_profile(*options, std::move(stop)); },
          .status = [status] { return *status; }};
}

}  // namespace infeed::tools
