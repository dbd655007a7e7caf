#include "infeed/device/callbacks.h"

#include <filesystem>
#include <gmock/gmock.h>

#include <infeed/device/worker_logs.h>
#include <infeed/error.h>
#include <infeed/records/record_reader.h>

#include "device/error_message.h"
#include "device/train/small_training.h"
#include "temporary_folder.h"

namespace infeed {
namespace {

/// Answers the callbacks' questions.
class NotedControl : public FitControl {
 public:
  TrainingState state() override { return {.step = 9}; }
  FitAccounts accounts() const override { return noted; }
  TuningReport tuning() const override { return {}; }
  void stop_training(std::string reason) override { stopped = std::move(reason); }
  void set_rate_factor(double value) override { factor = value; }

  std::string stopped;
  double factor = 1;
  FitAccounts noted;
};

EpochLogs epoch_with_loss(std::int64_t epoch, double loss) {
  return {.epoch = epoch,
          .steps = 10,
          .training = {.examples = 10, .correct = 5, .loss_sum = 100},
          .validation = Metrics{.examples = 4, .correct = 3, .loss_sum = 4 * loss},
          .rate = 0.5};
}

TEST(Callbacks, EarlyStoppingWaitsForAsManyEpochsAsItsPatience) {
  NotedControl control;
  EarlyStopping stopping({.patience = 1, .improvement_min = 0.01});
  stopping.on_epoch_end(control, epoch_with_loss(0, 0.5));
  stopping.on_epoch_end(control, epoch_with_loss(1, 0.495));  // not enough
  EXPECT_EQ(control.stopped, "");
  stopping.on_epoch_end(control, epoch_with_loss(2, 0.4));
  stopping.on_epoch_end(control, epoch_with_loss(3, 0.6));
  EXPECT_EQ(control.stopped, "");

  EarlyStopping resumed({.patience = 1, .improvement_min = 0.01});
  resumed.restore(stopping.state());
  resumed.on_epoch_end(control, epoch_with_loss(4, 0.4));
  EXPECT_EQ(control.stopped, "the loss hasn't fallen below 0.4000 for 2 epochs");
  EXPECT_EQ(error_message([&] { resumed.restore("0.4 x"); }),
            "the saved state of 'early_stopping' has '0.4' where hexadecimal digits is expected; "
            "take an older checkpoint");
  EXPECT_EQ(error_message([] { EarlyStopping({.patience = -1}); }),
            "early stopping with a patience of -1 epochs and an improvement of 0; both are 0 or "
            "more");
}

TEST(Callbacks, EarlyStoppingEndsFit) {
  SmallTraining small;
  const auto stopping =
      std::make_shared<EarlyStopping>(EarlyStoppingOptions{.patience = 1, .improvement_min = 10});
  const FitResult result = fit(small.training(), Slice::parse("v3-8"), from_columns(points(32), 16),
                               {.epochs = 9, .callbacks = {stopping}});
  EXPECT_EQ(result.epochs.size(), 3U);
  EXPECT_THAT(result.stop_reason, testing::HasSubstr("for 2 epochs"));
}

TEST(Callbacks, EpochRateMultipliesTheSchedule) {
  const auto weights_with = [](std::vector<std::shared_ptr<Callback>> callbacks) {
    SmallTraining small;
    const FitResult result =
        fit(small.training(), Slice::parse("v3-8"), from_columns(points(32), 16),
            {.epochs = 2, .callbacks = std::move(callbacks)});
    EXPECT_EQ(result.epochs.size(), 2U);
    return std::pair(small.weights(), result.epochs[0].rate);
  };
  const auto still = weights_with(
      {std::make_shared<EpochRate>([](std::int64_t epoch) { return epoch == 0 ? 1.0 : 0.0; })});
  EXPECT_EQ(still.second, 0.02);  // the rate before the callback
  EXPECT_NE(still.first, weights_with({}).first);
  EXPECT_EQ(weights_with({std::make_shared<EpochRate>([](std::int64_t) { return 1.0; })}).first,
            weights_with({}).first);
  NotedControl control;
  EpochRate rate([](std::int64_t epoch) { return 1.0 / static_cast<double>(1 + epoch); });
  rate.on_epoch_end(control, epoch_with_loss(2, 1));
  EXPECT_EQ(control.factor, 0.25);
  EpochRate resumed([](std::int64_t epoch) { return 1.0 / static_cast<double>(1 + epoch); });
  resumed.restore(rate.state());
  control.factor = 1;
  resumed.on_begin(control);
  EXPECT_EQ(control.factor, 0.25);
}

TEST(Callbacks, ProgressAndWorkerLogSayHowFarItIs) {
  const TemporaryFolder folder;
  NotedControl control;
  std::vector<std::string> lines;
  Progress progress([&](const std::string& line) { lines.push_back(line); }, 10);
  const auto at_step = [](std::int64_t step) {
    return StepLogs{.epoch = 1,
                    .step = step,
                    .step_of_epoch = step - 100,
                    .steps = 4,
                    .training = {.examples = 8, .correct = 6, .loss_sum = 4}};
  };
  progress.on_execution_end(control, at_step(108));
  progress.on_execution_end(control, at_step(112));  // passes 110
  progress.on_epoch_end(control, epoch_with_loss(1, 0.25));
  EXPECT_THAT(lines, testing::ElementsAre(
                         "epoch 2: 12 steps, loss 0.5000, accuracy 0.7500",
                         "epoch 2: 10 steps, loss 10.0000, accuracy 0.5000; validation: loss "
                         "0.2500, accuracy 0.7500"));
  WorkerLog log(folder.file("logs"), 3);
  EXPECT_EQ(log.runs_on(), RunsOn::every_worker);
  log.on_begin(control);
  control.noted.host = {.steps = 4,
                        .infeed_wait_ps = 10'000'000'000,
                        .idle_ps = 50'000'000'000,  // in callbacks: not slow input
                        .compute_ps = 30'000'000'000,
                        .all_reduce_ps = 70'000'000'000};
  log.on_execution_end(control, at_step(108));
  control.noted.host.steps = 8;
  control.noted.host.compute_ps += 50'000'000'000;
  log.on_execution_end(control, at_step(112));
  EXPECT_EQ(read_whole(folder.file("logs/worker-00003.log")),
            "begins behind step 9\n"
            "step 108 epoch 1 loss 0.5000, accuracy 0.7500, 10.00 ms a step\n"
            "step 112 epoch 1 loss 0.5000, accuracy 0.7500, 12.50 ms a step\n");
}

TEST(Callbacks, SaveCheckpointsSavesAsOftenAsItIsAsked) {
  const TemporaryFolder folder;
  SmallTraining small;
  const auto save = std::make_shared<SaveCheckpoints>(
      SaveCheckpointsOptions{.folder = folder.path(), .every_steps = 3, .save = {.keep = 10}});
  fit(small.training(), Slice::parse("v3-8"), from_columns(points(64), 8),
      {.epochs = 2, .steps_per_execution = 2, .callbacks = {save}});
  std::vector<std::string> names;
  for (const std::string& name : training_checkpoints(folder.path())) {
    names.push_back(fs::path(name).filename().string());
  }
  // Executions end at 2, 4, ..., 16; 3, 6, 9, 12 and 15 lie in some; an epoch ends at 8 and 16.
  EXPECT_THAT(names, testing::ElementsAre("step-0000000004", "step-0000000006", "step-0000000008",
                                          "step-0000000010", "step-0000000012", "step-0000000016"));
  EXPECT_EQ(save->newest(), folder.file("step-0000000016"));
}

/// Cancels behind any step, and resumes from the checkpoint that was saved there.
TEST(Callbacks, SaveCheckpointsKeepsWhatACancelledRunHasDone) {
  const auto data = from_columns(points(96), 16) | shuffle({.buffer = 4, .seed = 3});
  SmallTraining whole;
  fit(whole.training(), Slice::parse("v3-8"), data, {.epochs = 2});
  for (std::int64_t stop_at = 1; stop_at < 12; ++stop_at) {
    const TemporaryFolder folder;
    const auto run = [&](std::int64_t last) {
      SmallTraining small;
      std::stop_source source;
      const FitResult result = fit(small.training(), Slice::parse("v3-8"), data,
                                   {.epochs = 2,
                                    .resume_from = folder.path(),
                                    .callbacks = {std::make_shared<SaveCheckpoints>(
                                        SaveCheckpointsOptions{.folder = folder.path()})},
                                    .stop = source.get_token(),
                                    .on_step = [&](std::int64_t step, const Metrics&) {
                                      if (step == last) source.request_stop();
                                    }});
      return std::pair(result.resumed_at, small.weights());
    };
    run(stop_at);
    const auto [resumed_at, weights] = run(-1);
    EXPECT_EQ(resumed_at, stop_at);
    EXPECT_EQ(weights, whole.weights());
  }
}

/// Notes the steps of each execution, and their results.
class NotedExecutions : public Callback {
 public:
  std::string_view name() const override { return "noted_executions"; }
  void on_execution_end(FitControl&, const StepLogs& logs) override {
    examples += logs.training.examples;
    losses += logs.training.loss_sum;
    ends.emplace_back(logs.step - logs.steps, logs.step);
  }
  void on_cancelled(FitControl&) override { ends.emplace_back(-1, -1); }

  std::vector<std::pair<std::int64_t, std::int64_t>> ends;
  std::int64_t examples = 0;
  double losses = 0;
};

/// Cancels behind any step, also within an execution: every step reaches the callbacks once.
TEST(Callbacks, SeeTheStepsOfAnExecutionThatIsCancelled) {
  const auto data = from_columns(points(96), 16) | shuffle({.buffer = 4, .seed = 3});
  const auto run = [&](const std::string& folder, std::int64_t last) {
    SmallTraining small;
    std::stop_source source;
    const auto noted = std::make_shared<NotedExecutions>();
    fit(small.training(), Slice::parse("v3-8"), data,
        {.epochs = 2,
         .steps_per_execution = 4,
         .resume_from = folder,
         .callbacks = {noted, std::make_shared<SaveCheckpoints>(
                                  SaveCheckpointsOptions{.folder = folder, .every_steps = 3})},
         .stop = source.get_token(),
         .on_step = [&](std::int64_t step, const Metrics&) {
           if (step == last) source.request_stop();
         }});
    return noted;
  };
  using testing::Pair;
  const TemporaryFolder folder;
  const auto whole = run(folder.file("whole"), -1);
  EXPECT_THAT(whole->ends, testing::ElementsAre(Pair(0, 4), Pair(4, 6), Pair(6, 10), Pair(10, 12)));
  for (std::int64_t stop_at = 1; stop_at < 12; ++stop_at) {
    const std::string cut = folder.file("cut-" + std::to_string(stop_at));
    const auto before = run(cut, stop_at);
    const auto after = run(cut, -1);
    ASSERT_GE(before->ends.size(), 2U);
    EXPECT_EQ(before->ends.back().first, -1);
    before->ends.pop_back();
    EXPECT_EQ(before->ends.back().second, stop_at);
    std::int64_t end = 0;
    for (const auto& noted : {before, after}) {
      for (const auto& [first, last] : noted->ends) {
        EXPECT_EQ(first, end) << stop_at;
        end = last;
      }
    }
    EXPECT_EQ(end, 12);
    EXPECT_EQ(before->examples + after->examples, whole->examples);
    EXPECT_NEAR(before->losses + after->losses, whole->losses, 1e-9);
  }
}

TEST(Callbacks, SaveBestKeepsTheEpochWithTheLeastLoss) {
  const TemporaryFolder folder;
  NotedControl control;
  SaveBest best(folder.path());
  best.on_epoch_end(control, epoch_with_loss(0, 0.5));
  const auto first = latest_training_checkpoint(folder.path());
  ASSERT_TRUE(first);
  fs::remove_all(*first);
  SaveBest resumed(folder.path());
  resumed.restore(best.state());
  resumed.on_epoch_end(control, epoch_with_loss(1, 0.5));
  EXPECT_FALSE(latest_training_checkpoint(folder.path()));
  resumed.on_epoch_end(control, epoch_with_loss(2, 0.4));
  EXPECT_TRUE(latest_training_checkpoint(folder.path()));
}

}  // namespace
}  // namespace infeed
