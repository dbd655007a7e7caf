#include <gmock/gmock.h>

#include <infeed/device/fit.h>

#include "device/error_message.h"
#include "device/train/small_training.h"
#include "temporary_folder.h"

namespace infeed {
namespace {

/// Shares are uneven, an epoch is resumed from a checkpoint, and each epoch is validated.
TEST(Fit, MetricsOfOnesOwnAreSummedOverReplicasAndSteps) {
  const TemporaryFolder folder;
  SmallTraining small;
  Training training = small.training();
  training.forward = [learns = small.forward](Tape& tape, const ColumnBatch& share) {
    ReplicaResult result = learns(tape, share);
    double sum = 0;
    for (const std::int64_t label : share.column("label").values<std::int64_t>()) {
      sum += static_cast<double>(label);
    }
    result.sums = {{"labels", sum}, {"rows", static_cast<double>(share.rows())}};
    return result;
  };
  const auto save =
      std::make_shared<SaveCheckpoints>(SaveCheckpointsOptions{.folder = folder.path()});
  const auto train = [&](std::int64_t epochs) {
    return fit(training, Slice::parse("v3-8"), from_columns(points(90), 21),
               {.epochs = epochs,
                .validation = from_columns(points(33, 2), 40),
                .resume_from = folder.path(),
                .callbacks = {save}});
  };
  train(1);
  const FitResult result = train(2);
  EXPECT_EQ(result.resumed_at, 5);
  for (const EpochLogs& logs : result.epochs) {
    EXPECT_EQ(logs.training.mean("labels"), 1);  // 0, 1 and 2 by turns
    EXPECT_EQ(logs.training.mean("rows"), 1);
    EXPECT_EQ(logs.validation->mean("labels"), 1);
    EXPECT_EQ(logs.training.mean("none"), 0);
  }
  training.forward = [learns = small.forward](Tape& tape, const ColumnBatch& share) {
    ReplicaResult named = learns(tape, share);
    named.sums = {{"two words", 1}};
    return named;
  };
  EXPECT_THAT(error_message([&] { train(3); }),
              testing::HasSubstr("a metric is named 'two words'; take a name without blanks"));
}

}  // namespace
}  // namespace infeed
