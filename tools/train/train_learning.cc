#include "train/train_learning.h"

#include <chrono>
#include <fmt/format.h>

#include <infeed/device/event_file.h>
#include <infeed/device/model.h>
#include <infeed/device/model_checkpoint.h>
#include <infeed/device/trainer.h>
#include <infeed/error.h>
#include <infeed/records/record_reader.h>

#include "train/tuning_profile.h"

namespace infeed::tools {
namespace {

using Clock = std::chrono::steady_clock;

double elapsed_seconds(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

std::int64_t count_examples(const std::vector<std::string>& shards) {
  std::uint64_t count = 0;
  for (const std::string& shard : shards) count += count_records(shard);
  return static_cast<std::int64_t>(count);
}

/// Keras's layout: one folder for training, one for validation, tags epoch_loss and epoch_accuracy.
class Curves {
 public:
  explicit Curves(const std::string& folder)
      : train_(folder + "/train"), validation_(folder + "/validation") {}

  void add(const EpochResult& epoch) {
    train_.scalar("epoch_loss", epoch.epoch, epoch.loss);
    train_.scalar("epoch_accuracy", epoch.epoch, epoch.accuracy);
    validation_.scalar("epoch_loss", epoch.epoch, epoch.test_loss);
    validation_.scalar("epoch_accuracy", epoch.epoch, epoch.test_accuracy);
  }

 private:
  EventFileWriter train_;
  EventFileWriter validation_;
};

}  // namespace

LearnResult learn(const Slice& slice, const LearnOptions& options) {
  const Clock::time_point begin = Clock::now();
  LearnResult result;
  result.steps_per_epoch = count_examples(options.training.shards) / options.training.batch;
  if (result.steps_per_epoch == 0) {
    throw Error(ErrorCode::invalid_argument,
                fmt::format("there are fewer training images than one batch of {}; use a larger "
                            "dataset",
                            options.training.batch));
  }
  Trainer trainer(classifier_784_128_10(), slice,
                  {.seed = options.seed,
                   .adam = {.learning_rate = options.learning_rate},
                   .threads = options.threads});
  Curves curves(options.log_folder);
  const Batches test = test_pipeline(options.test);
  const auto training = std::make_shared<Iterator<Batch<Example>>>(
      training_pipeline(options.training)
          .iterate({.executor = options.executor,
                    .tuner = {.profile = load_tuning_profile(options.checkpoint_file)}}));
  BatchSource source = batch_source(training);
  for (int epoch = 1; epoch <= options.epochs; ++epoch) {
    const Clock::time_point epoch_begin = Clock::now();
    const TrainResult trained =
        trainer.train(source, {.steps_max = result.steps_per_epoch,
                               .stop = options.stop,
                               .on_step = [&](std::int64_t step, const Metrics& metrics) {
                                 result.losses.push_back(metrics.loss());
                                 if (options.on_step)
                                   options.on_step(epoch, step, result.steps_per_epoch);
                               }});
    BatchSource test_source = batch_source(test, {.executor = options.executor});
    const TrainResult tested = trainer.evaluate(test_source, {.stop = options.stop});
    if (trained.end == RunEnd::cancelled || tested.end == RunEnd::cancelled) {
      throw Error(ErrorCode::cancelled, "stopped");
    }
    const EpochResult row{.epoch = epoch,
                          .loss = trained.metrics.loss(),
                          .accuracy = trained.metrics.accuracy(),
                          .test_loss = tested.metrics.loss(),
                          .test_accuracy = tested.metrics.accuracy(),
                          .seconds = elapsed_seconds(epoch_begin)};
    save_model_checkpoint(options.checkpoint_file, trainer.model(), trainer.optimizer());
    save_tuning_profile(options.checkpoint_file, training->tuning());
    curves.add(row);
    result.epochs.push_back(row);
    if (options.on_epoch) options.on_epoch(row);
  }
  result.tuning = training->tuning();
  result.simulated = trainer.simulated();
  result.seconds = elapsed_seconds(begin);
  return result;
}

}  // namespace infeed::tools
