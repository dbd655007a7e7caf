#include <CLI/CLI.hpp>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fmt/format.h>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <infeed/communicator.h>
#include <infeed/detail/printable_text.h>
#include <infeed/detail/wait_unless_stopped.h>
#include <infeed/device/cost_model.h>
#include <infeed/device/models.h>
#include <infeed/device/slice.h>
#include <infeed/error.h>
#include <infeed/feed.h>
#include <infeed/records/training_checkpoint.h>
#include <infeed/world.h>

#include "cli/command_line.h"
#include "cli/option_checks.h"
#include "cli/terminal.h"
#include "convert/inputs/fashion_mnist.h"
#include "train/train.h"
#include "train/train_ranks.h"

namespace infeed::tools {
namespace {

namespace fs = std::filesystem;

struct TrainOptions {
  TrainJob job;
  double seconds = 4;
  std::string compression = "gzip";
  std::string precision = "float32";
  std::string networks = "trained";
  bool is_short = false;
  bool no_color = false;
  bool ascii = false;
  CLI::Option* seconds_option = nullptr;
};

constexpr double kShortSeconds = 0.8;

/// Returns true if a launcher started this process with others. Contradictions are reported when the
/// ranks meet.
bool has_other_ranks() {
  try {
    return detect_world().world.size > 1;
  } catch (const Error&) {
    return true;
  }
}

/// Refuses a slice whose feeding can't be measured here.
void check_can_compare(const TrainJob& job) {
  const Slice slice = Slice::parse(job.slice);
  if (job.train_only || slice.num_hosts() == 1 || has_other_ranks()) return;
  throw CLI::ValidationError(
      "--slice",
      fmt::format("slice {} has {} hosts, and pipelines are compared on one: choose a slice "
                  "of one host, such as v3-8, or leave out the comparison (--train-only)",
                  slice.name(), slice.num_hosts()));
}

/// Returns the ranks that train together; null for a process alone.
std::unique_ptr<Communicator> ranks_of_job() {
  const DetectedWorld detected = detect_world();
  if (detected.world.size == 1) return nullptr;
  record_by_rank(detected.world);
  std::unique_ptr<Communicator> ranks = mpi_communicator();
  if (ranks->world() == detected.world) return ranks;
  throw Error(
      ErrorCode::failed_precondition,
      fmt::format("{} says that this is rank {} of {}, and MPI has {} of {}; start the ranks "
                  "with mpirun or srun of the MPI that infeed was built with",
                  detected.source, detected.world.rank, detected.world.size, ranks->world().rank,
                  ranks->world().size));
}

/// Says that there is nothing to go on from, before minutes go by with a training that begins.
void warn_of_no_checkpoint(const TrainJob& job) {
  if (!job.resume || latest_training_checkpoint(checkpoint_folder_of(job))) return;
  Terminal(stderr).line(
      fmt::format("infeed train: --resume finds no checkpoint in {}, so the training begins anew",
                  checkpoint_folder_of(job)));
}

/// Waits until the chief, which may have to save first, ends the job; not for ever.
void wait_for_chief(const std::stop_token& stop) {
  infeed::detail::wait_unless_stopped(std::chrono::seconds(10), stop);
}

/// Runs this rank's part. Returns the error if all ranks were stopped together. After another error
/// the rank that saves first ends the job, so that no rank waits for one that is gone: the chief, or
/// rank 1 if the chief is lost.
std::optional<Error> run_rank(const TrainJob& job, Terminal& terminal,
                              const std::stop_token& stop) {
  const int rank = job.ranks->world().rank;
  std::string reason;
  bool is_chief = rank == 0;
  try {
    run_train_job(job, terminal, stop);
    return std::nullopt;
  } catch (const RankLost& lost) {
    is_chief = is_chief || (rank == 1 && lost.rank() == 0);
    reason = lost.what();
  } catch (const Error& error) {
    if (error.code() == ErrorCode::cancelled) return error;
    reason = error.what();
  } catch (const std::exception& error) {
    reason = error.what();
  }
  std::fflush(stdout);
  if (is_chief) job.ranks->abort("infeed train: " + reason);
  std::fprintf(stderr, "infeed train: at rank %d: %s\n", rank,
               infeed::detail::printable_text(reason).c_str());
  wait_for_chief(stop);
  job.ranks->abort("infeed train: rank 0 didn't end the job after an error");
  return std::nullopt;  // for GCC, which doesn't see that abort() never returns
}

/// Returns $XDG_CACHE_HOME/infeed, ~/.cache/infeed, or ./infeed-work without a home.
std::string default_work_folder() {
  const auto folder = [](const char* variable) -> fs::path {
    const char* const value = std::getenv(variable);
    return value == nullptr ? fs::path() : fs::path(value);
  };
  if (const fs::path cache = folder("XDG_CACHE_HOME"); cache.is_absolute()) {
    return (cache / "infeed").string();
  }
  if (const fs::path home = folder("HOME"); home.is_absolute() && fs::is_directory(home)) {
    return (home / ".cache" / "infeed").string();
  }
  return (fs::current_path() / "infeed-work").string();
}

void run(const TrainOptions& options, const std::stop_token& stop) {
  TrainJob job = options.job;
  const bool seconds_given = options.seconds_option->count() > 0;
  const double seconds = options.is_short && !seconds_given ? kShortSeconds : options.seconds;
  job.run_duration = std::chrono::milliseconds(static_cast<std::int64_t>(seconds * 1000));
  job.compression = options.compression == "gzip" ? Compression::gzip : Compression::none;
  job.precision = precision_from(options.precision);
  job.all_networks = options.networks == "all";
  if (job.work_folder.empty()) job.work_folder = default_work_folder();
  const TerminalOptions looks{.colours = !options.no_color, .unicode = !options.ascii};
  std::unique_ptr<Communicator> ranks = ranks_of_job();
  if (!ranks) {
    warn_of_no_checkpoint(job);
    Terminal terminal(stdout, looks);
    return run_train_job(job, terminal, stop);
  }
  const FeedRoles roles = gather_roles(*ranks, false);
  const std::unique_ptr<Communicator> trainers = group_of(*ranks, roles.trainers);
  job.ranks = trainers.get();
  if (!roles.workers.empty()) job.feed = {ranks.get(), roles.workers};
  job.train_only = true;
  const bool is_chief = trainers->world().rank == 0;
  if (is_chief) {
    warn_of_no_checkpoint(job);
  } else {
    job.json_file.clear();
  }
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> nowhere(std::fopen("/dev/null", "w"),
                                                                &std::fclose);
  Terminal terminal(is_chief || !nowhere ? stdout : nowhere.get(), looks);
  const std::optional<Error> stopped = run_rank(job, terminal, stop);
  dismiss_workers(*ranks, roles.workers);
  ranks.reset();  // waits for the others
  if (stopped) throw Error(*stopped);
}

void add_options(CLI::App& command, TrainOptions& options) {
  TrainJob& job = options.job;
  job.data_folder = kFashionMnistFolder;
  command.add_option("--data", job.data_folder, "Folder with Fashion-MNIST's IDX files")
      ->capture_default_str()
      ->type_name("DIR");
  command
      .add_option("--work", job.work_folder,
                  "Folder for shards, model and event files; by default infeed in the cache folder "
                  "of the user ($XDG_CACHE_HOME or ~/.cache)")
      ->type_name("DIR");
  command.add_option("--slice", job.slice, "The TPU to simulate, by Google Cloud's name")
      ->check(parsed_by(Slice::parse))
      ->capture_default_str()
      ->type_name("NAME");
  auto* const model_cost =
      command
          .add_option(
              "--model-cost", job.model_cost,
              fmt::format("Network whose step time paces the comparison, instead of the one that "
                          "is trained: {}",
                          fmt::join(workload_names(), ", ")))
          ->check(parsed_by(workload))
          ->type_name("NAME");
  command
      .add_option("--step-us", job.step_us,
                  "That step time in microseconds, instead of a network's")
      ->check(CLI::Range(1.0, 1e8))
      ->type_name("US")
      ->excludes(model_cost);
  options.seconds_option =
      command.add_option("--seconds", options.seconds, "How long each pipeline is measured")
          ->check(CLI::Range(0.1, 3600.0))
          ->capture_default_str()
          ->type_name("S");
  command
      .add_option("--model", job.model,
                  fmt::format("Network to train: {}", fmt::join(nn::model_names(), ", ")))
      ->check(one_of({nn::model_names().begin(), nn::model_names().end()}))
      ->capture_default_str()
      ->type_name("NAME");
  command
      .add_option("--precision", options.precision,
                  "Precision of products: float32, mixed_bfloat16, or mixed_float16 with a dynamic "
                  "loss scale")
      ->check(one_of({"float32", "mixed_bfloat16", "mixed_float16"}))
      ->capture_default_str()
      ->type_name("NAME");
  command
      .add_option("--epochs", job.epochs,
                  "Passes over the training images; by default 20 for the mlp, else 6")
      ->check(CLI::Range(1, 10'000));
  command
      .add_option("--batch", job.batch,
                  "Images a step of the training; by default 1024 for the mlp, else 128")
      ->check(CLI::Range(1, 65'536));
  command.add_flag(
      "--resume", job.resume,
      "Goes on from the newest checkpoint of this model and precision; begins anew, and "
      "says so, if there is none");
  command
      .add_option("--checkpoint-steps", job.checkpoint_steps,
                  "Saves a checkpoint after so many steps, too; 0: after each epoch only")
      ->check(CLI::Range(0, 1'000'000'000))
      ->capture_default_str()
      ->type_name("N");
  command.add_flag("--train-only", job.train_only,
                   "Leaves out the comparison of pipelines, as several ranks always do");
  command
      .add_option("--networks", options.networks,
                  "trained: compares for the networks that are trained here; all: for larger ones, "
                  "too, and trains each of them with and without the tricks (half an hour)")
      ->check(one_of({"trained", "all"}))
      ->capture_default_str()
      ->type_name("WHICH");
  command.add_flag("--short", options.is_short,
                   fmt::format("Measures each pipeline for {:g} s only", kShortSeconds));
  command.add_option("--seed", job.seed, "Seed of weights, order and augmentation")
      ->capture_default_str();
  command
      .add_option("--compression", options.compression,
                  "Compression of the shards: gzip (as images usually are) or none")
      ->check(one_of({"none", "gzip"}))
      ->capture_default_str()
      ->type_name("NAME");
  command.add_option("--threads", job.threads, "Threads to use; 0: one a core")
      ->check(CLI::Range(0, 1024))
      ->capture_default_str();
  command.add_option("--json", job.json_file, "Also write the results there, as JSON")
      ->type_name("FILE");
  command.add_flag("--no-color", options.no_color, "No colours");
  command.add_flag("--ascii", options.ascii, "No Unicode in the output");
}

}  // namespace

Command add_train_command(CLI::App& app) {
  const auto options = std::make_shared<TrainOptions>();
  CLI::App* const command = app.add_subcommand(
      "train", "Do the main job: make shards, compare pipelines that feed a simulated TPU, train");
  add_options(*command, *options);
  command->parse_complete_callback([options] { check_can_compare(options->job); });
  command->footer(
      "Examples: infeed train --short --json result.json\n"
      "          mpirun -n 4 infeed train --slice v3-32 --resume\n"
      "Each rank of MPI runs its part of the slice's replicas, on a folder that all share.\n");
  return {.options = command, .run = [options](std::stop_token stop) { run(*options, stop); }};
}

}  // namespace infeed::tools
