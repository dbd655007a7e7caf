#include "train/train.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
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
#include "train/train_networks.h"
#include "train/train_ranks.h"
#include "train/train_recipe.h"
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

/// A device that takes every batch at once.
constexpr StepTime kNoPace{.compute_ps = 1'000'000};

/// Returns the recipe; options of the job come before the model's.
TrainRecipe recipe_of(const TrainJob& job) {
  TrainRecipe recipe = tools::recipe_of(job.model);
  if (job.epochs > 0) recipe.epochs = job.epochs;
  if (job.batch > 0) recipe.batch = job.batch;
  return recipe;
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
        compare_tricks();
        compare_networks();
      }
      train();
      if (!job_.train_only) show_device_tricks();
    } catch (const Error& error) {
      // Another rank may have been asked to stop.
      const bool is_asked = stop_.stop_requested() || job_.ranks != nullptr;
      if (error.code() == ErrorCode::cancelled && is_asked) throw stopped(error);
      const std::string folder = shard_folder_of(error.file());
      if (error.code() == ErrorCode::data_loss && !folder.empty())
        throw damaged_shard(error, folder);
      throw;
    }
    result_.seconds =
        std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    finish();
    check_trained_twice(result_.twice);
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
    terminal_.line(fmt::format("A simulated TPU {} ({} replicas on {} chips), fed by {}",
                               slice_.name(), slice_.num_replicas(), slice_.num_chips(),
                               counted(executor_->concurrency(), "core")));
    terminal_.line(fmt::format("Work folder: {}", job_.work_folder));
    begin_together(job_, recipe_of(job_), terminal_);
  }

  TrainShards make_shards(Split split, std::uint32_t count, Compression compression) {
    const std::string_view what = split == Split::train ? "training" : "test";
    terminal_.status(fmt::format("  {} images: reading {}", what, job_.data_folder));
    TrainShards shards = shards_of_chief(job_.ranks, [&] {
      return prepare_shards({.data_folder = job_.data_folder,
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
    });
    terminal_.line(
        fmt::format("  {:>6} {} images in {}, {}, {}: {}", with_commas(shards.examples), what,
                    counted(shards.files.size(), "shard"), as_megabytes(shards.bytes),
                    shards.reused ? "made before" : fmt::format("made in {:.2f} s", shards.seconds),
                    fs::path(shards.files.front()).filename().string()));
    if (compression == job_.compression)
      kept_.push_back(fmt::format("the {} shards of {} images", shards.files.size(), what));
    return shards;
  }

  void make_shards() {
    title(fmt::format("1  Record shards ({})", to_string(job_.compression)));
    result_.training_shards = make_shards(Split::train, kTrainingShards, job_.compression);
    result_.test_shards = make_shards(Split::test, kTestShards, job_.compression);
    const std::int64_t batch = std::max(recipe_of(job_).batch, job_.train_only ? 1 : kBatch);
    if (std::cmp_less(result_.training_shards.examples, batch)) {
      throw Error(ErrorCode::invalid_argument,
                  fmt::format("{} training images are fewer than one batch of {}; use a larger "
                              "dataset",
                              result_.training_shards.examples, batch));
    }
  }

  /// The folder of the training's shards; beside it lies that of the other compression.
  std::string shard_folder(Compression compression) const {
    const char* const name = compression == job_.compression ? "/shards" : "/shards-to-compare";
    return job_.work_folder + name;
  }

  std::vector<std::string> shards_of(Compression compression) {
    if (compression == job_.compression) return result_.training_shards.files;
    if (other_shards_.empty())
      other_shards_ = make_shards(Split::train, kTrainingShards, compression).files;
    return other_shards_;
  }

  PipelineOptions pipeline_options(Compression compression) {
    return {.shards = shards_of(compression), .seed = job_.seed, .batch = kBatch};
  }

  MeasureOptions measure_options(StepTime step) const {
    // A pass, but no longer than two seconds: at that pace a cache makes no difference.
    constexpr std::int64_t kWarmupPs = 2'000'000'000'000;
    const auto examples = static_cast<std::int64_t>(result_.training_shards.examples);
    return {.step = step,
            .duration = job_.run_duration,
            .warmup_steps = std::min(examples / kBatch, kWarmupPs / step.total_ps()) + 1,
            .executor = executor_,
            .stop = stop_};
  }

  std::vector<MeasuredRun> measure_all(const std::vector<Variant>& variants,
                                       Compression compression, StepTime step,
                                       const std::function<void(const MeasuredRun&)>& on_row) {
    return measure_by_turns(slice_, variants, pipeline_options(compression), measure_options(step),
                            {.on_begin =
                                 [&](const Variant& variant, int turn) {
                                   terminal_.status(fmt::format("  {}: measuring, turn {} of {}",
                                                                variant.name, turn, kTurns));
                                 },
                             .on_row = on_row});
  }

  /// Takes the step of the trained network, unless another one is named.
  void set_pace() {
    if (job_.step_us) {
      result_.model_cost = "explicit";
      result_.step = StepTime{.compute_ps = std::llround(*job_.step_us * 1e6)};
    } else if (!job_.model_cost.empty()) {
      result_.model_cost = job_.model_cost;
      result_.step = step_time(workload(job_.model_cost), slice_, kBatch,
                               {.precision = precision_on_tpu(job_.precision)});
    } else {
      result_.model_cost = recipe_of(job_).model;
      result_.step = step_time(graph_of(result_.model_cost, slice_, kBatch).workload(), slice_,
                               kBatch, {.precision = precision_on_tpu(job_.precision)});
    }
    const double us = static_cast<double>(result_.step.total_ps()) / 1e6;
    terminal_.line(fmt::format("  A step of {} images takes {} ({}) {} us, up to {} images/s.",
                               with_commas(kBatch), slice_.name(), result_.model_cost,
                               with_commas(std::llround(us)),
                               with_commas(std::llround(static_cast<double>(kBatch) * 1e6 / us))));
  }

  void compare_tricks() {
    title("2  What each trick of feeding brings");
    terminal_.line(
        "  Each image is read, parsed, shuffled, shifted, mirrored and normalised. The device is");
    terminal_.line(
        "  fed ahead, as a TPU host does; of its time it waits for input, for the transfer, for");
    terminal_.line(fmt::format(
        "  the host (idle), or is busy. Pipelines are measured by turns, {} times; medians.",
        kTurns));
    set_pace();
    AblationTable table(terminal_, result_.step, kBatch);
    table.header();
    result_.runs = measure_all(ablation_variants(), job_.compression, result_.step,
                               [&](const MeasuredRun& run) { table.row(run); });
    terminal_.line();
    print_trick_gains(trick_gains(result_.runs), terminal_);
    terminal_.line("  All of them: " +
                   terminal_.paint(Paint::bold, tools::compare(terminal_, result_.runs.front(),
                                                               result_.runs.back())));
    terminal_.line("  What autotune did:");
    std::istringstream said(result_.runs.back().tuning.text());
    for (std::string line; std::getline(said, line);) terminal_.line("    " + line);
  }

  /// Shows all networks, whatever their results.
  void compare_networks() {
    title("3  What all tricks of feeding bring, network by network");
    terminal_.line(
        "  Both ends are measured while no device holds them up; what they took for each batch");
    terminal_.line("  is replayed for each network, whose step the time model gives.");
    std::vector<FeedingEnds> ends;
    for (const Compression compression : {Compression::gzip, Compression::none}) {
      std::vector<MeasuredRun> runs =
          measure_all(outer_variants(), compression, kNoPace, [](const MeasuredRun&) {});
      ends.push_back({compression, std::move(runs.front()), std::move(runs.back())});
    }
    const std::vector<Network> networks =
        job_.all_networks ? all_networks(slice_, kBatch) : trained_networks(slice_, kBatch);
    result_.networks = feed_networks(slice_, networks, kBatch,
                                     {.precision = precision_on_tpu(job_.precision)}, ends);
    print_networks(result_.networks, terminal_);
  }

  void show_device_tricks() {
    const TrainRecipe recipe = recipe_of(job_);
    title("5  What the device's own tricks bring, each on top of those before");
    terminal_.line(
        fmt::format("  By the model of a step's time ({}, input always ready; what the host's "
                    "launches take is",
                    recipe.model));
    terminal_.line(
        "  assumed). They change what is learnt, so it is trained with those that count.");
    LearnOptions options = learn_options(recipe, job_.compression);
    options.precision = Precision::float32;
    options.epochs_of_rate = options.epochs;
    options.epochs = std::max(1, recipe.epochs / 5);
    const auto epochs = static_cast<std::size_t>(options.epochs);
    result_.device_tricks = device_tricks(recipe.model, slice_, recipe.batch);
    terminal_.status("  training with the device's tricks");
    const double before = job_.precision == Precision::float32
                              ? result_.learning.epochs[epochs - 1].test_accuracy
                              : learn(slice_, options).epochs.back().test_accuracy;
    learn_with_tricks(result_.device_tricks, slice_, options, before);
    print_device_tricks(result_.device_tricks, options.epochs, terminal_);
  }

  /// Options without files, which belong to the training itself.
  LearnOptions learn_options(const TrainRecipe& recipe, Compression compression) {
    PipelineOptions training = pipeline_options(compression);
    training.batch = recipe.batch;
    PipelineOptions test = training;
    test.shards = result_.test_shards.files;
    return {.model = std::string(recipe.model),
            .precision = job_.precision,
            .training = std::move(training),
            .images = static_cast<std::int64_t>(result_.training_shards.examples),
            .test = std::move(test),
            .epochs = recipe.epochs,
            .seed = job_.seed,
            .rate = [model = recipe.model](
                        std::uint64_t updates) { return rate_schedule(model, updates); },
            .threads = job_.threads,
            .executor = executor_,
            .stop = stop_,
            .on_step =
                [this](int epoch, std::int64_t step, std::int64_t steps) {
                  if (step % 8 == 0)
                    terminal_.status(fmt::format("  epoch {}: step {} of {}", epoch, step, steps));
                }};
  }

  void train() {
    const TrainRecipe recipe = recipe_of(job_);
    title(fmt::format(
        "{}  Training {}{} for real on {} replicas, batches of {}, {} epochs, seed {}",
        job_.train_only ? 2 : 4, recipe.model,
        job_.precision == Precision::float32 ? std::string()
                                             : fmt::format(" ({})", to_string(job_.precision)),
        slice_.num_replicas(), with_commas(recipe.batch), recipe.epochs, job_.seed));
    result_.model = recipe.model;
    result_.precision = job_.precision;
    result_.training_batch = recipe.batch;
    result_.checkpoint_folder = checkpoint_folder_of(job_);
    const std::string name = fs::path(result_.checkpoint_folder).filename().string();
    const bool goes_on =
        job_.resume && latest_training_checkpoint(result_.checkpoint_folder).has_value();
    result_.log_folder = log_folder_of(job_.work_folder + "/logs", name, goes_on);
    LearnOptions with_files = learn_options(recipe, job_.compression);
    with_files.files.checkpoint_folder = result_.checkpoint_folder;
    with_files.files.resume = job_.resume;
    with_files.files.log_folder = result_.log_folder;
    with_files.files.checkpoint_steps = job_.checkpoint_steps;
    with_files.ranks = job_.ranks;
    with_files.feed_workers = job_.feed;
    LearningTable table(terminal_);
    table.header();
    bool is_first_row = true;
    with_files.on_epoch = [&](const EpochResult& epoch) {
      table.row(epoch);
      if (std::exchange(is_first_row, false)) kept_.emplace_back();
      kept_.back() = fmt::format("the model after epoch {} ({}), event files ({})", epoch.epoch,
                                 result_.checkpoint_folder, result_.log_folder);
    };
    result_.learning = learn(slice_, with_files);
    const LearnResult& learned = result_.learning;
    terminal_.line(fmt::format(
        "  Test accuracy {} after {:.1f} s{}",
        terminal_.paint(Paint::bold,
                        fmt::format("{:.2f} %", 100 * learned.epochs.back().test_accuracy)),
        learned.seconds,
        learned.resumed_at == 0 ? std::string()
                                : fmt::format("; it went on from step {}", learned.resumed_at)));
    print_account(learned.fit, terminal_);
    print_notes(learned.fit.tuning.notes, terminal_);
    if (learned.resumed_at == 0 && job_.ranks == nullptr) train_pairs();
  }

  void train_pairs() {
    for (const std::string_view model : nn::model_names()) {
      const bool is_trained = model == result_.model;
      const TrainRecipe recipe = is_trained ? recipe_of(job_) : tools::recipe_of(model);
      for (const Compression compression : {Compression::gzip, Compression::none}) {
        if (!job_.all_networks && !(is_trained && compression == job_.compression)) continue;
        result_.twice.push_back(tools::train_twice(slice_, learn_options(recipe, compression)));
        result_.twice.back().compression = compression;
      }
    }
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

  /// Returns the folder of shards that contains the file; empty: none.
  std::string shard_folder_of(const std::string& file) const {
    for (const Compression compression : {Compression::gzip, Compression::none}) {
      std::string folder = shard_folder(compression);
      if (file.starts_with(folder + "/")) return folder;
    }
    return {};
  }

  const TrainJob& job_;
  Terminal& terminal_;
  const std::stop_token stop_;
  const Slice slice_;
  const std::shared_ptr<Executor> executor_;
  TrainResultFile result_;
  std::vector<std::string> other_shards_;  ///< shards of the compression that only the comparison
                                           ///< uses
  std::vector<std::string> kept_;
};

}  // namespace

std::string checkpoint_folder_of(const TrainJob& job) {
  return fmt::format("{}/checkpoints/{}-{}", job.work_folder, job.model, to_string(job.precision));
}

void run_train_job(const TrainJob& job, Terminal& terminal, const std::stop_token& stop) {
  Job(job, terminal, stop).run();
}

}  // namespace infeed::tools
