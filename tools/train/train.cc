#include "train/train.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <ctime>
#include <filesystem>
#include <fmt/chrono.h>
#include <fmt/format.h>
#include <sstream>
#include <utility>
#include <vector>

#include <infeed/device/models.h>
#include <infeed/device/slice.h>
#include <infeed/error.h>
#include <infeed/pipeline/executor.h>
#include <infeed/records/output_file.h>

#include "train/device_tricks.h"
#include "train/train_pace.h"
#include "train/train_report.h"
#include "train/train_result.h"
#include "train/train_shards.h"
#include "train/train_twice.h"

namespace infeed::tools {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t kBatch = 1024;
constexpr std::uint32_t kTrainingShards = 16;
constexpr std::uint32_t kTestShards = 2;

/// How a model is trained unless it is asked for something else.
struct Recipe {
  std::string_view model;
  int epochs;
  std::int64_t batch;
};
constexpr std::array kRecipes = {Recipe{"mlp", 20, 1024}, Recipe{"convnet", 6, 128},
                                 Recipe{"transformer", 6, 128}};
constexpr double kMlpRate = 0.002;

Recipe recipe_of(const TrainJob& job) {
  const auto* const found = std::ranges::find(kRecipes, job.model, &Recipe::model);
  Recipe recipe = found == kRecipes.end() ? kRecipes.front() : *found;
  recipe.model = job.model;
  if (job.epochs > 0) recipe.epochs = job.epochs;
  if (job.batch > 0) recipe.batch = job.batch;
  return recipe;
}

nn::Schedule rate_of(std::string_view model, std::uint64_t steps) {
  return model == "mlp" ? nn::constant_rate(kMlpRate) : nn::rate_for_model(model, steps);
}

class Job {
 public:
  Job(const TrainJob& job, Terminal& terminal, std::stop_token stop)
      : job_(job),
        terminal_(terminal),
        stop_(std::move(stop)),
        slice_(Slice::parse(job.slice)),
        executor_(Executor::threads(job.threads)) {}

  void run() {
    const auto begin = std::chrono::steady_clock::now();
    if (!job_.json_file.empty()) check_can_write(job_.json_file);
    introduce();
    try {
      make_shards();
      if (!job_.train_only) {
        show_classifier();
        compare_pipelines();
        show_device_tricks();
      }
      train();
    } catch (const Error& error) {
      if (error.code() == ErrorCode::cancelled && stop_.stop_requested()) throw stopped(error);
      if (error.code() == ErrorCode::data_loss && is_shard(error.file())) {
        throw damaged_shard(error, shard_folder(job_.compression));
      }
      throw;
    }
    result_.seconds =
        std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    finish();
  }

 private:
  void title(std::string_view text) {
    terminal_.line();
    terminal_.line(terminal_.paint(Paint::bold, text));
  }

  void introduce() {
    result_.slice = slice_.name();
    result_.batch = kBatch;
    result_.seed = job_.seed;
    result_.threads = executor_->concurrency();
    result_.classifier_step = step_time(workload("classifier"), slice_, kBatch);
    terminal_.line(fmt::format("A simulated TPU {} ({} replicas on {} chips), fed by {}",
                               slice_.name(), slice_.num_replicas(), slice_.num_chips(),
                               counted(executor_->concurrency(), "core")));
    terminal_.line(fmt::format("Work folder: {}", job_.work_folder));
  }

  TrainShards make_shards(Split split, std::uint32_t count, Compression compression) {
    const std::string_view what = split == Split::train ? "training" : "test";
    terminal_.status(fmt::format("  {} images: reading {}", what, job_.data_folder));
    TrainShards shards =
        prepare_shards({.data_folder = job_.data_folder,
                        .shard_folder = shard_folder(compression),
                        .split = split,
                        .shard_count = count,
                        .compression = compression,
                        .threads = job_.threads,
                        .stop = stop_,
                        .on_progress = [&](double share) {
                          terminal_.status(fmt::format("  {} images: {} {:3.0f} %", what,
                                                       terminal_.bar(share, 30), 100 * share));
                        }});
    terminal_.line(
        fmt::format("  {:>6} {} images in {} shards, {}, {}: {}", with_commas(shards.examples),
                    what, shards.files.size(), as_megabytes(shards.bytes),
                    shards.reused ? "made before" : fmt::format("made in {:.2f} s", shards.seconds),
                    fs::path(shards.files.front()).filename().string()));
    kept_.push_back(fmt::format("the {} shards of {} images", shards.files.size(), what));
    return shards;
  }

  void make_shards() {
    title(fmt::format("1  Record shards ({})", to_string(job_.compression)));
    result_.training_shards = make_shards(Split::train, kTrainingShards, job_.compression);
    result_.test_shards = make_shards(Split::test, kTestShards, job_.compression);
    if (result_.training_shards.examples < kBatch) {
      throw Error(ErrorCode::invalid_argument,
                  fmt::format("{} training images are fewer than one batch of {}; use a larger "
                              "dataset",
                              result_.training_shards.examples, kBatch));
    }
  }

  /// Those that are trained on, and beside them the others of the comparison.
  std::string shard_folder(Compression compression) const {
    const char* const name = compression == job_.compression ? "/shards" : "/shards-to-compare";
    return job_.work_folder + name;
  }

  PipelineOptions pipeline_options() const {
    return {.shards = result_.training_shards.files, .seed = job_.seed, .batch = kBatch};
  }

  MeasureOptions measure_options(StepTime step) const {
    const auto examples = static_cast<std::int64_t>(result_.training_shards.examples);
    return {.step = step,
            .duration = job_.run_duration,
            .warmup_steps = examples / kBatch + 1,
            .executor = executor_,
            .stop = stop_};
  }

  std::vector<MeasuredRun> measure_all(const std::vector<Variant>& variants, StepTime step) {
    return measure_all(variants, pipeline_options(), measure_options(step));
  }

  std::vector<MeasuredRun> measure_all(const std::vector<Variant>& variants,
                                       const PipelineOptions& pipeline,
                                       const MeasureOptions& options) {
    AblationTable table(terminal_, options.step, kBatch);
    table.header();
    return measure_by_turns(slice_, variants, pipeline, options,
                            {.on_begin =
                                 [&](const Variant& variant, int turn) {
                                   terminal_.status(fmt::format("  {}: measuring, turn {} of {}",
                                                                variant.name, turn, kTurns));
                                 },
                             .on_row = [&](const MeasuredRun& run) { table.row(run); }});
  }

  std::string step_text(std::string_view model, StepTime step) const {
    const double us = static_cast<double>(step.total_ps()) / 1e6;
    return fmt::format("  {}: a step of {} images takes {} us, up to {} images/s", model,
                       with_commas(kBatch), with_commas(std::llround(us)),
                       with_commas(std::llround(static_cast<double>(kBatch) * 1e6 / us)));
  }

  /// Also how the network of the comparison is chosen: by what the pipelines deliver to this one.
  void show_classifier() {
    title("2  The same images through seven pipelines");
    terminal_.line("  Each image is read, parsed, shuffled, shifted, mirrored and normalised.");
    terminal_.line(fmt::format("  Pipelines are measured by turns, {} times; medians.", kTurns));
    terminal_.line(
        "  The device is fed ahead, as a TPU host does. Of its time it waits for input,");
    terminal_.line("  for the transfer, for the host (idle), or is busy: 100 % together.");
    terminal_.line();
    terminal_.line(step_text("The small 784-128-10", result_.classifier_step));
    result_.classifier_runs = measure_all(outer_variants(), result_.classifier_step);
    const InputVerdict verdict = result_.classifier_runs.back().summary.verdict;
    terminal_.line(verdict == InputVerdict::highly_bound
                       ? "  It computes so little that the cores of this host can't keep it busy."
                       : fmt::format("  It stays {} input-bound.", to_string(verdict)));
  }

  /// Whether a try shows what the comparison is to show.
  bool fits(const Pace& pace) {
    MeasureOptions options = measure_options(pace.step);
    options.duration /= kTurns;
    const std::vector<Variant> variants = outer_variants();
    const auto verdict = [&](const Variant& variant) {
      terminal_.status(fmt::format("  trying network {}: {}", pace.network, variant.name));
      return measure(slice_, variant, pipeline_options(), options).summary.verdict;
    };
    return verdict(variants.front()) == InputVerdict::highly_bound &&
           verdict(variants.back()) != InputVerdict::highly_bound;
  }

  void set_pace() {
    terminal_.line();
    if (job_.step_us) {
      result_.model_cost = "explicit";
      result_.step = StepTime{.compute_ps = std::llround(*job_.step_us * 1e6)};
      terminal_.line(step_text("The step time asked for", result_.step));
      return;
    }
    std::vector<std::string> reason;
    if (job_.model_cost.empty()) {
      const BatchTimes times =
          batch_times(result_.classifier_runs.front(), result_.classifier_runs.back());
      const ChosenPace chosen = choose_pace(paces_of(slice_, kBatch), times,
                                            [this](const Pace& pace) { return fits(pace); });
      result_.model_cost = chosen.pace.network;
      reason = reason_for(chosen, times);
    } else {
      result_.model_cost = job_.model_cost;
    }
    const Workload network = workload(result_.model_cost);
    result_.step = step_time(network, slice_, kBatch);
    terminal_.line(step_text("Network " + result_.model_cost, result_.step));
    terminal_.line("  (" + network.description + ")");
    for (const std::string& line : reason) terminal_.line("  " + line);
    result_.model_cost_reason = fmt::format("{}", fmt::join(reason, " "));
  }

  void compare_pipelines() {
    set_pace();
    terminal_.line(
        "  Four rows add one trick each to the naive pipeline, the last two have them all: with");
    terminal_.line("  numbers of threads that fit this machine, and with autotune alone.");
    result_.runs = measure_all(ablation_variants(), result_.step);
    terminal_.line();
    terminal_.line("  All of them: " +
                   terminal_.paint(Paint::bold, tools::compare(terminal_, result_.runs.front(),
                                                               result_.runs.back())));
    terminal_.line("  What autotune did:");
    std::istringstream said(result_.runs.back().tuning.text());
    for (std::string line; std::getline(said, line);) terminal_.line("    " + line);
    compare_otherwise();
  }

  /// The ends of the comparison again: without the host's overlap, and with the other kind of shards.
  void compare_otherwise() {
    terminal_.line();
    terminal_.line("  On demand: each batch is asked for when the step before has ended.");
    MeasureOptions options = measure_options(result_.step);
    options.feed = InfeedFeed::on_demand;
    result_.runs_on_demand = measure_all(outer_variants(), pipeline_options(), options);
    result_.other_compression =
        job_.compression == Compression::none ? Compression::gzip : Compression::none;
    terminal_.line();
    terminal_.line(fmt::format("  Fed ahead again, from {} shards.",
                               result_.other_compression == Compression::none ? "plain" : "gzip"));
    PipelineOptions pipeline = pipeline_options();
    pipeline.shards = make_shards(Split::train, kTrainingShards, result_.other_compression).files;
    result_.runs_of_other = measure_all(outer_variants(), pipeline, measure_options(result_.step));
  }

  void show_device_tricks() {
    const Recipe recipe = recipe_of(job_);
    terminal_.line();
    terminal_.line(
        fmt::format("  The device's own tricks, each on top of those before, by the model of a "
                    "step's time ({},",
                    recipe.model));
    terminal_.line("  input always ready; what the host's launches take is assumed):");
    result_.device_tricks = device_tricks(recipe.model, slice_, recipe.batch);
    print_device_tricks(result_.device_tricks, terminal_);
  }

  void train() {
    const Recipe recipe = recipe_of(job_);
    title(fmt::format(
        "{}  Training {}{} for real on {} replicas, batches of {}, {} epochs, seed {}",
        job_.train_only ? 2 : 3, recipe.model,
        job_.precision == Precision::float32 ? std::string()
                                             : fmt::format(" ({})", to_string(job_.precision)),
        slice_.num_replicas(), with_commas(recipe.batch), recipe.epochs, job_.seed));
    result_.model = recipe.model;
    result_.precision = job_.precision;
    result_.training_batch = recipe.batch;
    result_.checkpoint_folder = fmt::format("{}/checkpoints/{}-{}", job_.work_folder, recipe.model,
                                            to_string(job_.precision));
    result_.log_folder = fmt::format("{}/logs/{:%Y-%m-%d_%H-%M-%S}", job_.work_folder,
                                     fmt::localtime(std::time(nullptr)));
    PipelineOptions training = pipeline_options();
    training.batch = recipe.batch;
    PipelineOptions test = training;
    test.shards = result_.test_shards.files;
    LearningTable table(terminal_);
    table.header();
    bool is_first_row = true;
    const LearnOptions options{
        .model = result_.model,
        .precision = job_.precision,
        .training = training,
        .test = test,
        .epochs = recipe.epochs,
        .seed = job_.seed,
        .rate = [&](std::uint64_t steps) { return rate_of(recipe.model, steps); },
        .threads = job_.threads,
        .executor = executor_,
        .checkpoint_folder = result_.checkpoint_folder,
        .resume = job_.resume,
        .log_folder = result_.log_folder,
        .stop = stop_,
        .on_epoch =
            [&](const EpochResult& epoch) {
              table.row(epoch);
              if (std::exchange(is_first_row, false)) kept_.emplace_back();
              kept_.back() =
                  fmt::format("the model after epoch {} ({}), event files ({})", epoch.epoch,
                              result_.checkpoint_folder, result_.log_folder);
            },
        .on_step =
            [&](int epoch, std::int64_t step, std::int64_t steps) {
              if (step % 8 == 0) {
                terminal_.status(
                    fmt::format("  epoch {}: step {} of {}", epoch, (step - 1) % steps + 1, steps));
              }
            }};
    result_.learning = learn(slice_, options);
    const LearnResult& learned = result_.learning;
    terminal_.line(fmt::format(
        "  Test accuracy {} after {:.1f} s{}",
        terminal_.paint(Paint::bold,
                        fmt::format("{:.2f} %", 100 * learned.epochs.back().test_accuracy)),
        learned.seconds,
        learned.resumed_at == 0 ? std::string()
                                : fmt::format("; it went on from step {}", learned.resumed_at)));
    print_account(learned.fit, terminal_);
    for (const std::string& note : learned.fit.tuning.notes) terminal_.line("  autotune: " + note);
    result_.twice = train_without_tricks(slice_, options, learned);
    print_trained_twice(result_.twice, slice_, terminal_);
  }

  void finish() {
    terminal_.line();
    terminal_.line(fmt::format("Model:       {}", result_.checkpoint_folder));
    terminal_.line(fmt::format("TensorBoard: tensorboard --logdir {}", result_.log_folder));
    if (!job_.json_file.empty()) {
      replace_file(job_.json_file, to_json(result_));
      terminal_.line(fmt::format("JSON:        {}", job_.json_file));
    }
    terminal_.line(fmt::format("{:.0f} s in all", result_.seconds));
  }

  Error stopped(const Error& error) const {
    if (kept_.empty()) {
      return Error(ErrorCode::cancelled,
                   error.message() + " (in " + shard_folder(job_.compression) + ")");
    }
    return Error(ErrorCode::cancelled,
                 fmt::format("stopped; kept in {}: {}", job_.work_folder, fmt::join(kept_, "; ")));
  }

  bool is_shard(const std::string& file) const {
    return file.starts_with(shard_folder(job_.compression) + "/");
  }

  const TrainJob& job_;
  Terminal& terminal_;
  const std::stop_token stop_;
  const Slice slice_;
  const std::shared_ptr<Executor> executor_;
  TrainResultFile result_;
  std::vector<std::string> kept_;
};

}  // namespace

void run_train_job(const TrainJob& job, Terminal& terminal, const std::stop_token& stop) {
  Job(job, terminal, stop).run();
}

}  // namespace infeed::tools
