#include "train/train_learning.h"

#include <algorithm>
#include <chrono>
#include <ctime>
#include <filesystem>
#include <fmt/chrono.h>
#include <fmt/format.h>
#include <optional>
#include <span>
#include <utility>

#include <infeed/detail/folder_entries.h>
#include <infeed/device/models.h>
#include <infeed/error.h>
#include <infeed/feed.h>
#include <infeed/records/crc32c.h>

#include "feed/open_fed.h"
#include "train/tuning_profile.h"

namespace infeed::tools {
namespace {

using Clock = std::chrono::steady_clock;

double elapsed_seconds(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

EpochResult row_of(const EpochLogs& logs, double seconds) {
  return {.epoch = static_cast<int>(logs.epoch) + 1,
          .loss = logs.training.loss(),
          .accuracy = logs.training.accuracy(),
          .test_loss = logs.validation->loss(),
          .test_accuracy = logs.validation->accuracy(),
          .learning_rate = logs.rate,
          .seconds = seconds};
}

std::uint32_t crc32c_of(const std::vector<Variable>& variables) {
  std::uint32_t crc = 0;
  for (const Variable& variable : variables) {
    const Tensor value = variable.value();
    const std::span<const float> values = value.values<float>();
    crc = extend_crc32c(crc, {reinterpret_cast<const char*>(values.data()), values.size_bytes()});
  }
  return crc;
}

/// Collects a row of the table for each epoch.
class Rows : public Callback {
 public:
  Rows(const LearnOptions& options, LearnResult& result) : options_(options), result_(result) {}
  std::string_view name() const override { return "rows"; }

  void on_epoch_end(FitControl& fit, const EpochLogs& logs) override {
    EpochResult row = row_of(logs, elapsed_seconds(begin_));
    row.slice_seconds = static_cast<double>(fit.accounts().slice.span_ps) / 1e12;
    begin_ = Clock::now();
    if (!options_.files.checkpoint_folder.empty()) {
      save_tuning_profile(options_.files.checkpoint_folder, fit.tuning());
    }
    result_.epochs.push_back(row);
    if (options_.on_epoch) options_.on_epoch(row);
  }

 private:
  const LearnOptions& options_;
  LearnResult& result_;
  Clock::time_point begin_ = Clock::now();
};

void remove_earlier_checkpoints(const std::string& folder) {
  for (const std::string& checkpoint : training_checkpoints(folder)) {
    std::filesystem::remove_all(checkpoint);
  }
}

/// Returns the batches to train on, made by this rank or by others.
SharedBatches training_batches(const LearnOptions& options) {
  return {.rows = options.training.batch, .pipeline = [&options](const RowShare& own) {
            PipelineOptions training = options.training;
            training.own = own;
            if (options.feed_workers.job == nullptr) {
              return columns_of(training_pipeline(training, options.tricks));
            }
            return fed_batches(*options.feed_workers.job,
                               {.workers = options.feed_workers.ranks,
                                .pipeline = text_of_training(training, options.tricks)});
          }};
}

}  // namespace

LearnResult learn(const Slice& slice, const LearnOptions& options) {
  const Clock::time_point begin = Clock::now();
  LearnResult result;
  result.steps_per_epoch = options.images / options.training.batch;
  if (result.steps_per_epoch == 0) {
    throw Error(ErrorCode::invalid_argument,
                fmt::format("there are fewer training images than one batch of {}; use a larger "
                            "dataset",
                            options.training.batch));
  }
  std::vector<std::shared_ptr<Callback>> callbacks = {std::make_shared<Rows>(options, result)};
  TunerOptions tuner;
  const bool is_chief = options.ranks == nullptr || options.ranks->world().rank == 0;
  if (!options.files.log_folder.empty() && is_chief) {
    callbacks.push_back(std::make_shared<TensorBoard>(options.files.log_folder));
  }
  if (!options.files.checkpoint_folder.empty()) {
    // The tuner's state lies beside the checkpoints, and is written before the first of them.
    make_folder(folder_of(options.files.checkpoint_folder));
    if (!options.files.resume && is_chief)
      remove_earlier_checkpoints(options.files.checkpoint_folder);
    tuner.profile = load_tuning_profile(options.files.checkpoint_folder);
    callbacks.push_back(std::make_shared<SaveCheckpoints>(
        SaveCheckpointsOptions{.folder = options.files.checkpoint_folder,
                               .every_steps = options.files.checkpoint_steps,
                               .save = {.keep = 2}}));
  }
  Scope scope({.seed = options.seed});
  const ReplicaFunction forward = classifier(nn::model_named(options.model, scope));
  const int epochs = options.epochs_of_rate > 0 ? options.epochs_of_rate : options.epochs;
  // The last group of an epoch may be short.
  const std::int64_t updates_per_epoch =
      (result.steps_per_epoch + options.batches_per_update - 1) / options.batches_per_update;
  const auto updates = static_cast<std::uint64_t>(updates_per_epoch * epochs);
  nn::Adam adam(scope.below("adam"), scope.variables(), {.rate = options.rate(updates)});
  std::optional<nn::LossScale> loss_scale;
  if (options.precision == Precision::mixed_float16) loss_scale.emplace(scope.below("loss_scale"));
  FitResult fitted =
      fit({.scope = scope,
           .forward = forward,
           .optimizer = &adam,
           .loss_scale = loss_scale ? &*loss_scale : nullptr},
          slice, training_batches(options),
          {.epochs = options.epochs,
           .steps_per_epoch = result.steps_per_epoch,
           .batches_per_update = options.batches_per_update,
           .precision = options.precision,
           .seed = options.seed,
           .validation = columns_of(test_pipeline(options.test)),
           .resume_from = options.files.resume ? options.files.checkpoint_folder : std::string(),
           .callbacks = std::move(callbacks),
           .worker = {.communicator = options.ranks},
           .threads = options.threads,
           .feed = options.feed,
           .iterate = {.executor = options.executor, .tuner = std::move(tuner), .order_hash = true},
           .stop = options.stop,
           .on_step = [&](std::int64_t step, const Metrics& metrics) {
             result.losses.push_back(metrics.loss());
             if (!options.on_step) return;
             const std::int64_t of_epoch = (step - 1) % result.steps_per_epoch + 1;
             options.on_step(static_cast<int>((step - 1) / result.steps_per_epoch) + 1, of_epoch,
                             result.steps_per_epoch);
           }});
  if (fitted.end == RunEnd::cancelled) throw Error(ErrorCode::cancelled, "stopped");
  result.resumed_at = fitted.resumed_at;
  result.weights_crc32c = crc32c_of(scope.variables());
  std::vector<EpochResult> before;
  for (const EpochLogs& logs : fitted.epochs) {
    if (before.size() + result.epochs.size() == fitted.epochs.size()) break;
    before.push_back(row_of(logs, 0));
  }
  result.epochs.insert(result.epochs.begin(), before.begin(), before.end());
  result.fit = std::move(fitted);
  result.seconds = elapsed_seconds(begin);
  return result;
}

std::string log_folder_of(const std::string& logs, const std::string& name, bool goes_on) {
  std::string newest;
  if (goes_on) {
    std::error_code ignored;
    for (const auto& entry : infeed::detail::folder_entries(logs, ignored)) {
      if (!entry.name.starts_with(name + "_")) continue;
      newest = std::max(newest, (std::filesystem::path(logs) / entry.name).string());
    }
  }
  if (!newest.empty()) return newest;
  return fmt::format("{}/{}_{:%Y-%m-%d_%H-%M-%S}", logs, name, fmt::localtime(std::time(nullptr)));
}

}  // namespace infeed::tools
