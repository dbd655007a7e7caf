#include "infeed/device/worker_logs.h"

#include <filesystem>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <infeed/device/fit.h>
#include <infeed/error.h>

#include "device/error_message.h"
#include "device/temporary_folder.h"
#include "device/train/small_training.h"

namespace infeed {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

/// Four workers: the second was killed while it wrote, the third hasn't begun, the last went on from a
/// checkpoint and has a step twice.
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
         "step 8 epstep 8 epoch 1 loss 0.2500, accuracy 0.5000, 1.00 ms a step\n"
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
                          "worker-00003.log, line 3: 'step 8 epstep 8 epoch 1 loss 0.2500, "
                          "accuracy 0.5000, 1.00 ms a step'"));
  EXPECT_THAT(logs.table(), HasSubstr("worker 1      12.25  without 2\n"));
  EXPECT_THAT(logs.table(), HasSubstr("worker 0      10.50  without 1, 2\nleft out: worker-00001"));
  EXPECT_TRUE(aggregate_worker_logs(folder.file("none"), 2).steps.empty());
  EXPECT_EQ(error_message([&] { aggregate_worker_logs(folder.path(), 0); }),
            "logs of 0 workers; say how many there are, 1 or more");
}

/// Any byte at which a worker may have stopped: its whole lines count, and the rest is named.
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

/// The chief comes last here, so that it sees what the others have logged.
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
