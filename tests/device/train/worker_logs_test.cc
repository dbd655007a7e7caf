#include "infeed/device/worker_logs.h"

#include <filesystem>
#include <fmt/format.h>
#include <gmock/gmock.h>

#include <infeed/device/fit.h>
#include <infeed/error.h>

#include "device/error_message.h"
#include "device/train/small_training.h"
#include "temporary_folder.h"

namespace infeed {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

/// Four workers: the second was killed while it wrote, the third hasn't begun, the last was also
/// killed, and resumed from a checkpoint.
TEST(WorkerLogs, AreMergedToOneLineAStep) {
  const TemporaryFolder folder;
  const auto log_of = [&](std::int32_t worker, const std::string& text) {
    write_whole(worker_log_file(folder.path(), worker), text);
  };
  log_of(0,
         "step 4 epoch 0 loss 0.5000, accuracy 0.2500, 10.00 ms a step\n"
         "step 8 epoch 1 loss 0.2500, accuracy 0.5000, 10.50 ms a step\n");
  log_of(1,
         "step 4 epoch 0 loss 0.7500, accuracy 0.7500, 12.25 ms a step\n"
         "step 8 epoch 1 loss 0.2500, accuracy 0.50");
  log_of(3,
         "step 4 epoch 0 loss 9.0000, accuracy 0.0000, 90.00 ms a step\n"
         "step 4 epoch 0 loss 0.2500, accuracy 0.5000, 12.25 ms a step\n"
         "step 8 ep\n"
         "begins behind step 4\n"
         "step 8 epoch 1 loss 0.7500, accuracy 1.0000, 10.25 ms a step\n");
  const WorkerLogs logs = aggregate_worker_logs(folder.path(), 4);
  EXPECT_THAT(logs.steps, ElementsAre(WorkerStep{.step = 4,
                                                 .epoch = 0,
                                                 .loss_min = 0.25,
                                                 .loss_mean = 0.5,
                                                 .loss_max = 0.75,
                                                 .accuracy = 0.5,
                                                 .slowest = 1,
                                                 .slowest_ms = 12.25,
                                                 .missing = {2}},
                                      WorkerStep{.step = 8,
                                                 .epoch = 1,
                                                 .loss_min = 0.25,
                                                 .loss_mean = 0.5,
                                                 .loss_max = 0.75,
                                                 .accuracy = 0.75,
                                                 .slowest = 0,
                                                 .slowest_ms = 10.5,
                                                 .missing = {1, 2}}));
  EXPECT_THAT(logs.left_out,
              ElementsAre("worker-00001.log, line 2: 'step 8 epoch 1 loss 0.2500, accuracy 0.50'",
                          "worker-00003.log, line 3: 'step 8 ep'"));
  EXPECT_THAT(logs.table(), HasSubstr("worker 1      12.25  without 2\n"));
  EXPECT_THAT(logs.table(), HasSubstr("worker 0      10.50  without 1, 2\nleft out: worker-00001"));
  EXPECT_TRUE(aggregate_worker_logs(folder.file("none"), 2).steps.empty());
  EXPECT_EQ(error_message([&] { aggregate_worker_logs(folder.path(), 0); }),
            "logs of 0 workers; say how many there are, 1 or more");
}

/// A worker may have stopped at any byte: its whole lines count, and the rest is named.
TEST(WorkerLogs, ALogThatIsCutAnywhereLosesItsLastLineAlone) {
  const std::string line = "step 4 epoch 0 loss 0.5000, accuracy 0.2500, 10.00 ms a step\n";
  const std::string next = "step 8 epoch 0 loss 0.5000, accuracy 0.2500, 10.00 ms a step\n";
  const TemporaryFolder folder;
  for (std::size_t bytes = 0; bytes <= next.size(); ++bytes) {
    write_whole(worker_log_file(folder.path(), 0), line + next.substr(0, bytes));
    const WorkerLogs logs = aggregate_worker_logs(folder.path(), 1);
    EXPECT_EQ(logs.steps.size(), bytes == next.size() ? 2U : 1U) << bytes;
    EXPECT_EQ(logs.left_out.size(), bytes == 0 || bytes == next.size() ? 0U : 1U) << bytes;
  }
}

/// Starts the log of a training that goes on behind a step.
class BegunControl : public FitControl {
 public:
  explicit BegunControl(std::uint64_t step) : step_(step) {}
  TrainingState state() override { return {.step = step_}; }
  TuningReport tuning() const override { return {}; }
  void stop_training(std::string) override {}
  void set_rate_factor(double) override {}

 private:
  const std::uint64_t step_;
};

/// Logs the steps behind `begin` up to `end`, as one process of the worker.
void log_steps(const TemporaryFolder& folder, std::int32_t worker, std::int64_t begin,
               std::int64_t end) {
  BegunControl control(static_cast<std::uint64_t>(begin));
  WorkerLog log(folder.path(), worker);
  log.on_begin(control);
  for (std::int64_t step = begin + 1; step <= end; ++step) {
    log.on_execution_end(control, {.step = step, .steps = 1});
  }
}

/// "1 2 3 without 0": the steps of two workers' logs.
std::string steps_of_two(const TemporaryFolder& folder) {
  std::vector<std::string> steps;
  for (const WorkerStep& step : aggregate_worker_logs(folder.path(), 2).steps) {
    steps.push_back(fmt::format("{}", step.step));
    if (!step.missing.empty()) steps.back() += fmt::format(" without {}", step.missing.front());
  }
  return fmt::format("{}", fmt::join(steps, ", "));
}

/// Wherever a kill cut a worker's log, the next process loses none of its own lines.
TEST(WorkerLogs, AResumedWorkerBeginsALineOfItsOwn) {
  const std::string line = "step 4 epoch 0 loss 0.5000, accuracy 0.2500, 10.00 ms a step\n";
  for (std::size_t bytes = 0; bytes <= line.size(); ++bytes) {
    const TemporaryFolder folder;
    write_whole(worker_log_file(folder.path(), 0), line.substr(0, bytes));
    log_steps(folder, 0, 3, 5);
    const WorkerLogs logs = aggregate_worker_logs(folder.path(), 1);
    ASSERT_EQ(logs.steps.size(), 2U) << bytes;
    EXPECT_EQ(logs.steps[0].accuracy, 0) << bytes;                 // logged by the second process
    const bool is_whole = bytes == 0 || bytes + 1 >= line.size();  // the newline may come later
    EXPECT_EQ(logs.left_out.size(), is_whole ? 0U : 1U) << bytes;
  }
}

/// A worker that went back to a checkpoint and hangs is missing, whatever it logged before.
TEST(WorkerLogs, WhatAWorkerDoesAnewCountsWhenItIsDone) {
  const TemporaryFolder folder;
  log_steps(folder, 0, 0, 4);
  log_steps(folder, 1, 0, 4);
  EXPECT_EQ(steps_of_two(folder), "1, 2, 3, 4");
  log_steps(folder, 1, 2, 3);
  EXPECT_EQ(steps_of_two(folder), "1, 2, 3, 4 without 1");
  log_steps(folder, 0, 0, 2);  // a new training in the same folder
  log_steps(folder, 1, 0, 1);
  EXPECT_EQ(steps_of_two(folder), "1, 2 without 1");
}

TEST(WorkerLogs, AResumedTrainingSaysBehindWhichStepItBegins) {
  const TemporaryFolder folder;
  for (const std::int64_t last : {3, 5}) {
    SmallTraining small;
    std::stop_source source;
    fit(small.training(), Slice::parse("v3-8"), from_columns(points(64), 16),
        {.epochs = 2,
         .resume_from = folder.path(),
         .callbacks = {std::make_shared<WorkerLog>(folder.path(), 0),
                       std::make_shared<SaveCheckpoints>(
                           SaveCheckpointsOptions{.folder = folder.path()})},
         .stop = source.get_token(),
         .on_step = [&](std::int64_t step, const Metrics&) {
           if (step == last) source.request_stop();
         }});
  }
  EXPECT_THAT(read_whole(worker_log_file(folder.path(), 0)),
              testing::ContainsRegex("^begins behind step 0\nstep 1 [^\n]*\nstep 2 [^\n]*\nstep 3 "
                                     "[^\n]*\nbegins behind step 3\nstep 4 [^\n]*\nstep 5 "));
}

/// Root may read everything, so a link that leads to itself stands for an unreadable file.
TEST(WorkerLogs, ALogThatCannotBeReadIsAnError) {
  const TemporaryFolder folder;
  log_steps(folder, 0, 0, 1);
  std::filesystem::create_symlink("worker-00001.log", worker_log_file(folder.path(), 1));
  EXPECT_EQ(error_message([&] { aggregate_worker_logs(folder.path(), 2); }),
            "cannot look for: too many symbolic links in the path");
}

TEST(WorkerLogs, TheTableIsRefusedBeforeAStep) {
  const TemporaryFolder folder;
  EXPECT_EQ(error_message([&] { WorkerTable(folder.path(), 0); }),
            "logs of 0 workers; say how many there are, 1 or more");
  WorkerTable table(folder.file("run/logs"), 1);
  BegunControl control(0);
  table.on_epoch_end(control, {});
  EXPECT_EQ(read_whole(folder.file("run/logs/workers.txt")), WorkerLogs().table());
  write_whole(folder.file("file"), "");
  EXPECT_THAT(error_message([&] { WorkerTable(folder.file("file"), 1); }),
              HasSubstr("cannot make the folder"));
}

/// The chief comes last here, so that it sees the others' logs.
TEST(WorkerLogs, TheChiefWritesTheTableAfterEachEpoch) {
  const TemporaryFolder folder;
  for (const std::int32_t worker : {1, 0}) {
    SmallTraining small(0, static_cast<std::uint64_t>(worker));
    fit(small.training(), Slice::parse("v3-8"), from_columns(points(64), 16),
        {.epochs = 2,
         .steps_per_execution = 2,
         .callbacks = {std::make_shared<WorkerLog>(folder.path(), worker),
                       std::make_shared<WorkerTable>(folder.path(), 3)},
         .worker = {.index = worker}});
    EXPECT_EQ(std::filesystem::exists(folder.file("workers.txt")), worker == 0);
  }
  const WorkerLogs logs = aggregate_worker_logs(folder.path(), 3);
  ASSERT_EQ(logs.steps.size(), 4U);
  for (const WorkerStep& step : logs.steps) {
    EXPECT_THAT(step.missing, ElementsAre(2));
    EXPECT_LT(step.loss_min, step.loss_max);  // their seeds differ
    EXPECT_GT(step.slowest_ms, 0);
  }
  EXPECT_EQ(read_whole(folder.file("workers.txt")), logs.table());
}

}  // namespace
}  // namespace infeed
