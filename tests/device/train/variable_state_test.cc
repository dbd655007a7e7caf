#include "infeed/device/variable_state.h"

#include <gtest/gtest.h>

#include <infeed/device/layers.h>
#include <infeed/device/losses.h>
#include <infeed/device/optimizers.h>
#include <infeed/error.h>

#include "device/error_message.h"
#include "temporary_folder.h"

namespace infeed {
namespace {

/// A layer with its optimiser.
struct SmallModel {
  explicit SmallModel(std::uint64_t seed, std::int64_t units = 3)
      : scope({.seed = seed}),
        layer(scope.below("dense"), 4, units),
        adam(scope.below("adam"), scope.variables()) {}

  float step() {
    Tape tape({.training = true});
    const TapeValue x = tape.constant(Tensor::copy_of<float>({1, 4}, {1, 2, 3, 4}));
    const TapeValue loss = nn::sum(tape, nn::tanh(tape, layer.apply(tape, x)));
    adam.apply(tape.gradients(loss));
    return loss.item();
  }

  Scope scope;
  nn::Dense layer;
  nn::Adam adam;
};

TEST(VariableState, TrainingContinuesBitForBit) {
  const TemporaryFolder folder;
  SmallModel model(1);
  for (int i = 0; i < 5; ++i) model.step();
  TrainingState state = state_of(5, model.scope.variables());
  state.bytes.push_back({"pipeline", "position 5"});
  const std::string saved = save_training_checkpoint(folder.path(), state);
  EXPECT_EQ(saved, folder.file("step-0000000005"));

  SmallModel other(2);
  const TrainingCheckpoint checkpoint = TrainingCheckpoint::open(saved);
  EXPECT_EQ(checkpoint.step(), 5U);
  EXPECT_EQ(checkpoint.bytes("pipeline"), "position 5");
  restore_variables(checkpoint, other.scope.variables());
  EXPECT_EQ(other.adam.steps(), 5U);
  for (int i = 0; i < 5; ++i) EXPECT_EQ(other.step(), model.step());
}

TEST(VariableState, AnotherModelsIsRefusedWithWhatDiffers) {
  const TemporaryFolder folder;
  const auto saved = TrainingCheckpoint::open(
      save_training_checkpoint(folder.path(), state_of(5, SmallModel(1).scope.variables())));
  SmallModel wide(2, 5);
  const Tensor before = wide.scope.variables()[0].value();
  EXPECT_EQ(error_message([&] { restore_variables(saved, wide.scope.variables()); }),
            "the checkpoint is of another model or optimiser: dense/kernel is [4, 3] in it and "
            "[4, 5] here, dense/bias is [3] in it and [5] here, adam/first_moment/dense/kernel is "
            "[4, 3] in it and [4, 5] here, adam/first_moment/dense/bias is [3] in it and [5] "
            "here and 2 more; build the one that it was saved from, or begin in another folder");
  EXPECT_EQ(wide.scope.variables()[0].value(), before);
  Scope other;
  other.variable("dense/kernel", {4, 3}, Initializer::zeros);
  other.variable("gain", {3}, Initializer::zeros);
  const std::string_view except[] = {"adam/"};
  EXPECT_EQ(error_message([&] { restore_variables(saved, other.variables(), except); }),
            "the checkpoint is of another model or optimiser: gain [3] isn't in it, dense/bias [3] "
            "isn't here; build the one that it was saved from, or begin in another folder");
  TrainingState halves = state_of(6, other.variables());
  halves.tensors[0].tensor = Tensor(DType::bfloat16, {4, 3});
  const auto of_halves = TrainingCheckpoint::open(save_training_checkpoint(folder.path(), halves));
  EXPECT_EQ(error_message([&] { restore_variables(of_halves, other.variables()); }),
            "the checkpoint is of another model or optimiser: dense/kernel is bfloat16 in it and "
            "float32 here; build the one that it was saved from, or begin in another folder");
}

}  // namespace
}  // namespace infeed
