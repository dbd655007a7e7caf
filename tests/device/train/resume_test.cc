#include <chrono>
#include <csignal>
#include <cstdlib>
#include <fcntl.h>
#include <filesystem>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <map>
#include <sstream>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <infeed/error.h>

#include "device/error_message.h"
#include "device/train/small_training.h"
#include "seeded_random.h"
#include "temporary_folder.h"
#include "test_extent.h"

namespace infeed {
namespace {

constexpr std::int64_t kEpochs = 3;
constexpr std::int64_t kStepsAnEpoch = 17;

/// All state that could be lost: shuffle, a random map on threads, batches ahead, dropout, running
/// statistics, gradients that wait.
Dataset<ColumnBatch> shuffled_batches() { return augmented_points(200, 3, 2) | prefetch(3); }

/// Trains, resuming from `folder`; notes each loss in the file.
FitResult train_in(const std::string& folder, SmallTraining& small, const std::string& losses_file,
                   int parent = -1) {
  const int losses = open(losses_file.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
  const auto save = std::make_shared<SaveCheckpoints>(
      SaveCheckpointsOptions{.folder = folder,
                             .every_steps = 5,
                             .save = {.keep = 2, .durability = Durability::leave_to_system}});
  FitResult result = fit(
      small.training(), Slice::parse("v3-8"), shuffled_batches(),
      {.epochs = kEpochs,
       .batches_per_update = 4,
       .clip_norm = 0.5,
       .seed = 9,
       .validation = from_columns(points(40, 2), 16),
       .resume_from = folder,
       .callbacks = {std::make_shared<EarlyStopping>(EarlyStoppingOptions{.patience = 9}), save},
       .iterate = {.order_hash = true},
       .on_step = [&](std::int64_t step, const Metrics& metrics) {
         const std::string line = fmt::format("{} {:a}\n", step, metrics.loss_sum);
         if (write(losses, line.data(), line.size()) < 0) std::abort();
         char go = 0;
         if (parent >= 0 && (write(parent, "s", 1) != 1 || read(parent, &go, 1) != 1)) _exit(2);
       }});
  close(losses);
  return result;
}

/// Returns the losses by step; a step that ran again must have had the same one.
std::map<std::int64_t, std::string> losses_of(const std::string& file) {
  std::map<std::int64_t, std::string> losses;
  std::istringstream lines(read_whole(file));
  std::int64_t step = 0;
  std::string loss;
  while (lines >> step >> loss) {
    const auto [at, is_new] = losses.emplace(step, loss);
    EXPECT_EQ(at->second, loss) << "step " << step << ", when it ran again";
  }
  return losses;
}

int kills() {
  const char* const given = std::getenv("INFEED_RESUME_KILLS");
  return given == nullptr ? 4 : std::atoi(given);
}

TEST(ResumeBits, KilledAtRandomStepsGivesTheSameWeightsLossesAndOrder) {
  const TemporaryFolder folder;
  SmallTraining whole(0.2);
  const FitResult expected = train_in(folder.file("whole"), whole, folder.file("whole.txt"));
  ASSERT_EQ(expected.steps, kEpochs * kStepsAnEpoch);
  ASSERT_NE(expected.order_hash, 0U);
  const auto expected_losses = losses_of(folder.file("whole.txt"));
  ASSERT_EQ(expected_losses.size(), static_cast<std::size_t>(expected.steps));

  test::SeededRandom random;
  const std::string run = folder.file("run");
  int killed = 0;
  for (int i = 0; i < kills(); ++i) {
    int ends[2];
    ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
    const pid_t child = fork();
    if (child == 0) {
      SmallTraining small(0.2);
      train_in(run, small, folder.file("run.txt"), ends[1]);
      _exit(0);
    }
    ASSERT_GT(child, 0);
    close(ends[1]);
    // First a number of steps, then a random moment: between two writes of a checkpoint, too.
    char step = 0;
    for (auto left = 1 + random() % kStepsAnEpoch; left > 0; --left) {
      if (read(ends[0], &step, 1) != 1) break;
      if (write(ends[0], "g", 1) != 1) break;
    }
    const auto until =
        std::chrono::steady_clock::now() + std::chrono::microseconds(random() % 3000);
    while (std::chrono::steady_clock::now() < until) {
    }
    kill(child, SIGKILL);
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    killed += WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL ? 1 : 0;
    close(ends[0]);
    if (latest_training_checkpoint(run) == run + "/step-0000000051") {  // it was through
      std::filesystem::remove_all(run);
    }
  }
  RecordProperty("killed", killed);
  EXPECT_GE(2 * killed, kills());
  SmallTraining resumed(0.2, 1234);  // other weights, which the checkpoint's replace
  const bool had_checkpoint = latest_training_checkpoint(run).has_value();
  SmallTraining same(0.2);
  SmallTraining& last = had_checkpoint ? resumed : same;
  const FitResult result = train_in(run, last, folder.file("run.txt"));
  EXPECT_EQ(result.resumed_at > 0, had_checkpoint);
  EXPECT_EQ(last.weights(), whole.weights());
  EXPECT_EQ(losses_of(folder.file("run.txt")), expected_losses);
  EXPECT_EQ(result.order_hash, expected.order_hash);
  EXPECT_EQ(result.epochs, expected.epochs);
}

/// Stops behind drawn steps, or each with tests_all(), in one process.
TEST(ResumeBits, StoppedBehindAStepGivesTheSame) {
  test::SeededRandom random;
  const TemporaryFolder folder;
  SmallTraining whole(0.2);
  const FitResult expected = train_in(folder.file("whole"), whole, folder.file("whole.txt"));
  const auto stride = [&] {
    return test::tests_all() ? 1 : 1 + static_cast<std::int64_t>(random() % 5);
  };
  for (std::int64_t stop = stride(); stop < expected.steps; stop += stride()) {
    const std::string run = folder.file(fmt::format("run-{}", stop));
    {
      SmallTraining small(0.2);
      std::stop_source source;
      const auto save = std::make_shared<SaveCheckpoints>(
          SaveCheckpointsOptions{.folder = run,
                                 .every_steps = 1,
                                 .save = {.keep = 1, .durability = Durability::leave_to_system}});
      const FitResult stopped = fit(small.training(), Slice::parse("v3-8"), shuffled_batches(),
                                    {.epochs = kEpochs,
                                     .batches_per_update = 4,
                                     .clip_norm = 0.5,
                                     .seed = 9,
                                     .validation = from_columns(points(40, 2), 16),
                                     .callbacks = {save},
                                     .iterate = {.order_hash = true},
                                     .stop = source.get_token(),
                                     .on_step = [&](std::int64_t step, const Metrics&) {
                                       if (step == stop) source.request_stop();
                                     }});
      ASSERT_EQ(stopped.steps, stop);
    }
    SmallTraining other(0.2, 99);
    const FitResult result = train_in(run, other, folder.file("losses.txt"));
    ASSERT_EQ(result.resumed_at, stop);
    ASSERT_EQ(other.weights(), whole.weights()) << stop;
    ASSERT_EQ(result.order_hash, expected.order_hash) << stop;
    ASSERT_EQ(result.epochs, expected.epochs) << stop;
  }
}

TEST(Resume, AnotherConfigurationIsRefused) {
  const TemporaryFolder folder;
  const auto train = [&](const Slice& slice, FitOptions options) {
    SmallTraining small;
    options.resume_from = folder.path();
    options.callbacks = {
        std::make_shared<SaveCheckpoints>(SaveCheckpointsOptions{.folder = folder.path()})};
    return fit(small.training(), slice, from_columns(points(32), 16), options);
  };
  const Slice slice = Slice::parse("v3-8");
  train(slice, {.epochs = 1, .seed = 4});
  EXPECT_EQ(train(slice, {.epochs = 3, .seed = 4}).resumed_at, 2);  // more epochs are fine
  EXPECT_EQ(
      error_message([&] { train(slice, {.epochs = 4, .seed = 5}); }),
      "the checkpoint was made with 'seed 4', and this fit() has 'seed 5': it would not go on "
      "as it was; take the options of before, or begin in another folder");
  EXPECT_THAT(error_message([&] { train(Slice::parse("v3-32"), {.epochs = 4, .seed = 4}); }),
              testing::StartsWith("the checkpoint was made with 'replicas 8', and this fit() has "
                                  "'replicas 32'"));
  // After damage no training begins anew in silence.
  const std::string newest = *latest_training_checkpoint(folder.path());
  const std::string bytes = read_whole(newest + "/bytes");
  write_whole(newest + "/bytes", bytes.substr(0, bytes.size() - 1));
  EXPECT_EQ(error_message([&] { train(slice, {.epochs = 4, .seed = 4}); }),
            fmt::format("not a whole training checkpoint: {} bytes where the manifest names {}; "
                        "take an older one",
                        bytes.size() - 1, bytes.size()));
}

TEST(Resume, AnotherPipelineIsRefused) {
  const TemporaryFolder folder;
  const auto train = [&](std::int64_t rows) {
    SmallTraining small;
    std::stop_source source;
    fit(small.training(), Slice::parse("v3-8"), from_columns(points(rows), 16) | repeat(),
        {.epochs = 1,
         .steps_per_epoch = 9,
         .resume_from = folder.path(),
         .callbacks = {std::make_shared<SaveCheckpoints>(
             SaveCheckpointsOptions{.folder = folder.path(), .every_steps = 2})},
         .stop = source.get_token(),
         .on_step = [&](std::int64_t step, const Metrics&) {
           if (step == 4) source.request_stop();
         }});
  };
  train(64);
  EXPECT_THAT(error_message([&] { train(80); }), testing::HasSubstr("checkpoint"));
}

}  // namespace
}  // namespace infeed
