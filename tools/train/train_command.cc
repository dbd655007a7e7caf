#include "train/train_command.h"

#include <CLI/CLI.hpp>
#include <cstdlib>
#include <filesystem>
#include <fmt/format.h>
#include <memory>
#include <string>
#include <vector>

#include <infeed/device/cost_model.h>
#include <infeed/device/models.h>
#include <infeed/device/slice.h>
#include <infeed/error.h>

#include "cli/terminal.h"
#include "convert/inputs/fashion_mnist.h"
#include "train/train.h"

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

/// Checks a slice's name. CLI11 takes an empty result as "valid".
std::string check_slice(const std::string& name) {
  try {
    const Slice slice = Slice::parse(name);
    if (slice.num_hosts() == 1) return {};
    return fmt::format(
        "slice {} has {} hosts, and this program is one: choose a slice of one host, such as v3-8",
        slice.name(), slice.num_hosts());
  } catch (const Error& error) {
    return error.message();
  }
}

std::string check_model_cost(const std::string& name) {
  try {
    workload(name);
    return {};
  } catch (const Error& error) {
    return error.message();
  }
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
  Terminal terminal(stdout, {.colours = !options.no_color, .unicode = !options.ascii});
  run_train_job(job, terminal, stop);
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
      ->check(CLI::Validator(check_slice, ""))
      ->capture_default_str()
      ->type_name("NAME");
  command
      .add_option(
          "--model-cost", job.model_cost,
          fmt::format("Network whose step time paces the comparison, instead of the one that "
                      "is trained: {}",
                      fmt::join(workload_names(), ", ")))
      ->check(CLI::Validator(check_model_cost, ""))
      ->type_name("NAME");
  command
      .add_option("--step-us", job.step_us,
                  "That step time in microseconds, instead of a network's")
      ->check(CLI::Range(1.0, 1e8))
      ->type_name("US");
  options.seconds_option =
      command.add_option("--seconds", options.seconds, "How long each pipeline is measured")
          ->check(CLI::Range(0.1, 3600.0))
          ->capture_default_str()
          ->type_name("S");
  command
      .add_option("--model", job.model,
                  fmt::format("Network to train: {}", fmt::join(nn::model_names(), ", ")))
      ->check(CLI::IsMember(
          std::vector<std::string>(nn::model_names().begin(), nn::model_names().end())))
      ->capture_default_str()
      ->type_name("NAME");
  command
      .add_option(
          "--precision", options.precision,
          "Of products: float32, mixed_bfloat16, or mixed_float16 with a dynamic loss scale")
      ->check(CLI::IsMember({"float32", "mixed_bfloat16", "mixed_float16"}))
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
  command.add_flag("--resume", job.resume,
                   "Goes on from the newest checkpoint of this model and precision");
  command.add_flag("--train-only", job.train_only, "Leaves out the comparison of pipelines");
  command
      .add_option("--networks", options.networks,
                  "trained: compares for the networks that are trained here; all: for larger ones, "
                  "too, and trains each of them with and without the tricks (half an hour)")
      ->check(CLI::IsMember({"trained", "all"}))
      ->capture_default_str()
      ->type_name("WHICH");
  command.add_flag("--short", options.is_short,
                   fmt::format("Measures each pipeline for {:g} s only", kShortSeconds));
  command.add_option("--seed", job.seed, "Of weights, order and augmentation")
      ->capture_default_str();
  command
      .add_option("--compression", options.compression,
                  "Of the shards: gzip (as images usually are) or none")
      ->check(CLI::IsMember({"none", "gzip"}))
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
      "train", "The main job: make shards, compare pipelines that feed a simulated TPU, train");
  add_options(*command, *options);
  command->footer("Example: infeed train --short --json result.json\n");
  return {.options = command, .run = [options](std::stop_token stop) { run(*options, stop); }};
}

}  // namespace infeed::tools
