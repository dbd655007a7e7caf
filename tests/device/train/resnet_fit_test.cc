#include <gtest/gtest.h>
#include <memory>
#include <vector>

#include <infeed/device/fit.h>
#include <infeed/device/models.h>
#include <infeed/infeed.h>

#include "device/train/small_training.h"
#include "temporary_folder.h"

namespace infeed {
namespace {

/// Images of 28 x 28 with noise and four bright rows, whose place is the class.
ColumnBatch barred_images(std::int64_t rows, std::uint64_t seed) {
  constexpr std::int64_t kPixelsAnImage = 784;
  Tensor images(DType::float32, {rows, kPixelsAnImage});
  Tensor labels(DType::int64, {rows});
  Philox random(seed, 0);
  for (std::int64_t row = 0; row < rows; ++row) {
    const std::int64_t label = row * 7 % 5;
    labels.writable<std::int64_t>()[static_cast<std::size_t>(row)] = label;
    for (std::int64_t pixel = 0; pixel < kPixelsAnImage; ++pixel) {
      const float noise = static_cast<float>(random() >> 8) * 0x1p-24F;
      const bool bright = pixel / 28 / 4 == label;
      images.writable<float>()[static_cast<std::size_t>(row * kPixelsAnImage + pixel)] =
          bright ? 1.0F : 0.5F * noise;
    }
  }
  return ColumnBatch({{"image", Column::dense(images)}, {"label", Column::dense(labels)}});
}

struct ResnetTraining {
  ResnetTraining()
      : scope({.seed = 7}),
        forward(classifier(nn::model_named("resnet", scope))),
        adam(scope.below("adam"), scope.variables(), {.rate = nn::constant_rate(0.005)}) {}

  FitResult train(FitOptions options) {
    options.validation = from_columns(barred_images(40, 2), 40);
    return fit({.scope = scope, .forward = forward, .optimizer = &adam}, Slice::parse("v3-8"),
               from_columns(barred_images(96, 1), 32), options);
  }
  /// Weights, running statistics and moments.
  std::vector<std::vector<float>> state() const { return values_of(scope.variables()); }

  Scope scope;
  ReplicaFunction forward;
  nn::Adam adam;
};

TEST(SameBits, OfAResnetOnAnyNumberOfThreads) {
  const auto state_with = [](std::int32_t threads) {
    ResnetTraining resnet;
    const FitResult result = resnet.train({.epochs = 1, .threads = threads});
    EXPECT_EQ(result.steps, 3);
    return resnet.state();
  };
  const auto alone = state_with(1);
  EXPECT_NE(alone, ResnetTraining().state());
  for (const std::int32_t threads : {2, 3, 8}) EXPECT_EQ(state_with(threads), alone) << threads;
}

TEST(ResumeBits, AResnetGoesOnWithItsStatisticsAndLearns) {
  constexpr std::int64_t kWholeEpochs = 8;
  ResnetTraining whole;
  const FitResult expected = whole.train({.epochs = kWholeEpochs});
  // Judged by the running statistics, of eight replicas with four images each.
  EXPECT_GE(expected.epochs.back().validation->accuracy(), 0.85);
  const TemporaryFolder folder;
  const auto train_to = [&](ResnetTraining& resnet, std::int64_t epochs) {
    return resnet.train({.epochs = epochs,
                         .resume_from = folder.file("checkpoints"),
                         .callbacks = {std::make_shared<SaveCheckpoints>(SaveCheckpointsOptions{
                             .folder = folder.file("checkpoints"),
                             .save = {.durability = Durability::leave_to_system}})}});
  };
  ResnetTraining begun;
  train_to(begun, 3);
  EXPECT_NE(begun.state(), whole.state());
  ResnetTraining resumed;
  const FitResult result = train_to(resumed, kWholeEpochs);
  EXPECT_EQ(result.resumed_at, 9);
  EXPECT_EQ(resumed.state(), whole.state());
  EXPECT_EQ(result.epochs.back().validation->loss(), expected.epochs.back().validation->loss());
}

}  // namespace
}  // namespace infeed
