#include "infeed/device/layers.h"

#include <algorithm>
#include <gmock/gmock.h>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include <infeed/device/losses.h>

#include "device/nn/gradient_check.h"

namespace infeed {
namespace {

using testing::ElementsAre;

TapeValue constant(const Tape& tape, const Shape& shape, std::initializer_list<float> values) {
  return tape.constant(Tensor::copy_of(shape, values));
}

std::vector<float> items(const TapeValue& value) {
  return {value.values().begin(), value.values().end()};
}

std::vector<std::string> names_of(const Scope& scope) {
  std::vector<std::string> names;
  for (const Variable& variable : scope.variables()) names.push_back(variable.name());
  return names;
}

TEST(Gradients, OfConvolutionWithStride) {
  for (const nn::Padding padding : {nn::Padding::same, nn::Padding::valid}) {
    expect_gradients({{2, 5, 4, 2}, {3, 2, 2, 3}, {3}}, [&](Tape& tape, const auto& v) {
      return nn::convolution(tape, v[0], v[1], v[2], {.stride = 2, .padding = padding});
    });
  }
}

TEST(Gradients, OfConvolutionWithoutBias) {
  expect_gradients({{2, 5, 4, 2}, {3, 3, 2, 3}}, [](Tape& tape, const auto& v) {
    return nn::convolution(tape, v[0], v[1], {.stride = 2});
  });
}

TEST(Gradients, OfGlobalAveragePooling) {
  expect_gradients({{2, 3, 4, 5}}, [](Tape& tape, const auto& v) {
    return nn::GlobalAveragePool().apply(tape, v[0]);
  });
}

TEST(Gradients, OfAResidualWithAShortcut) {
  Scope scope({.seed = 3});
  const nn::Residual block(nn::Dense(scope.below("inner"), 4, 3),
                           nn::Dense(scope.below("shortcut"), 4, 3));
  expect_gradients(
      {{5, 4}}, [&](Tape& tape, const auto& v) { return block.apply(tape, v[0]); },
      OtherVariables::not_checked);
}

TEST(Gradients, OfAveragePooling) {
  expect_gradients({{2, 5, 4, 2}}, [](Tape& tape, const auto& v) {
    return nn::average_of_rows(tape, nn::average_pool(tape, v[0], 2));
  });
}

TEST(Gradients, OfSigmoidScaleAndTables) {
  expect_gradients({{3, 2, 4}, {2, 4}}, [](Tape& tape, const auto& v) {
    return nn::sigmoid(tape, nn::scale(tape, nn::add_table(tape, v[0], v[1]), 1.5F));
  });
}

TEST(Gradients, OfDropout) {
  expect_gradients({{4, 5}},
                   [](Tape& tape, const auto& v) { return nn::dropout(tape, v[0], 0.4); });
}

TEST(Gradients, OfEmbedding) {
  expect_gradients({{4, 3}}, [](Tape& tape, const auto& v) {
    return nn::embedding(tape, v[0], constant(tape, {2, 2}, {1, 3, 3, 0}));
  });
}

TEST(Gradients, OfLayerNorm) {
  expect_gradients({{3, 2, 5}, {5}, {5}}, [](Tape& tape, const auto& v) {
    return nn::layer_norm(tape, v[0], v[1], v[2], 1e-3F);
  });
}

TEST(Gradients, OfBatchNorm) {
  Scope scope;
  const nn::BatchStatistics statistics{
      .mean = scope.variable("mean", {3}, Initializer::zeros, false),
      .variance = scope.variable("variance", {3}, Initializer::ones, false)};
  expect_gradients({{4, 2, 3}, {3}, {3}}, [&](Tape& tape, const auto& v) {
    return nn::batch_norm(tape, v[0], v[1], v[2], statistics);
  });
}

TEST(Gradients, OfMeanSquaredErrorAndBinaryCrossEntropy) {
  expect_gradients({{3, 2}, {3, 2}}, [](Tape& tape, const auto& v) {
    const TapeValue targets = constant(tape, {3, 2}, {0, 1, 0.25F, 1, 0, 0});
    return nn::add(tape, nn::mean_squared_error(tape, v[0], targets),
                   nn::binary_cross_entropy(tape, v[1], targets));
  });
}

TEST(Gradients, OfAttentionsLayerAndResiduals) {
  Scope scope({.seed = 3});
  const nn::Residual block(nn::SelfAttention(scope.below("attention"), 4, 2));
  expect_gradients(
      {{2, 3, 4}},
      [&](Tape& tape, const auto& v) {
        // The layer's own variables come behind, and are checked with dense().
        return block.apply(tape, v[0]);
      },
      OtherVariables::not_checked);
}

TEST(Layers, SequentialRunsThemAndNamesTheirVariables) {
  Scope scope({.seed = 42});
  nn::Sequential model;
  model.add(nn::Reshape({4, 4, 1}))
      .add(nn::Convolution(scope.below("convolution"), 1, 3,
                           {.stride = 2, .activation = nn::Activation::relu}))
      .add(nn::MaxPool(2))
      .add(nn::Flatten())
      .add(nn::Dense(scope.below("logits"), 3, 2));
  EXPECT_THAT(names_of(scope), ElementsAre("convolution/kernel", "convolution/bias",
                                           "logits/kernel", "logits/bias"));
  Tape tape({.training = true});
  const TapeValue y = model.apply(tape, tape.constant(Tensor(DType::float32, {0, 16})));
  EXPECT_EQ(y.shape(), (Shape{0, 2}));
  EXPECT_EQ(tape.gradients(nn::average_loss(tape, y, 1)).size(), 4);
}

TEST(Layers, AConvolutionWithoutBiasIsOneWithZeros) {
  const auto made = [](bool bias) {
    Scope scope({.seed = 42});
    const nn::Convolution layer(scope.below("convolution"), 1, 3, {.bias = bias});
    Tape tape;
    return std::pair(names_of(scope),
                     items(layer.apply(tape, constant(tape, {1, 2, 2, 1}, {1, -2, 3, 0.5F}))));
  };
  EXPECT_THAT(made(false).first, ElementsAre("convolution/kernel"));
  EXPECT_EQ(made(false).second, made(true).second);
}

TEST(Layers, GlobalAveragePoolTakesTheMeanOfAllPixels) {
  Tape tape;
  const TapeValue means = nn::GlobalAveragePool().apply(
      tape, constant(tape, {2, 1, 2, 2}, {1, 10, 3, 20, -1, 0.5F, 0, 0.25F}));
  EXPECT_EQ(means.shape(), (Shape{2, 2}));
  EXPECT_THAT(items(means), ElementsAre(2, 15, -0.5F, 0.375F));
}

TEST(Layers, AResidualAddsTheWayAround) {
  Scope scope;
  const nn::Residual around{nn::Activate(nn::Activation::relu)};
  const nn::Residual shortcut(nn::Activate(nn::Activation::relu), nn::MaxPool(1));
  const nn::Residual other_shape(nn::Flatten(), nn::Reshape({4}));
  Tape tape;
  const TapeValue x = constant(tape, {1, 2, 2, 1}, {1, -2, 3, -4});
  EXPECT_THAT(items(around.apply(tape, x)), ElementsAre(2, -2, 6, -4));
  EXPECT_THAT(items(shortcut.apply(tape, x)), ElementsAre(2, -2, 6, -4));
  EXPECT_EQ(other_shape.apply(tape, x).shape(), (Shape{1, 4}));
  EXPECT_THAT(items(other_shape.apply(tape, x)), ElementsAre(2, -4, 6, -8));
}

TEST(Layers, StridesAndPaddingAsTensorFlows) {
  const auto shape_of = [](std::int64_t pixels, std::int64_t window, std::int64_t stride,
                           nn::Padding padding) {
    Tape tape;
    const TapeValue images = tape.constant(Tensor::copy_of<float>(
        {1, pixels, pixels, 1}, std::vector<float>(static_cast<std::size_t>(pixels * pixels), 1)));
    const TapeValue kernel = tape.constant(Tensor::copy_of<float>(
        {window, window, 1, 1}, std::vector<float>(static_cast<std::size_t>(window * window), 1)));
    return nn::convolution(tape, images, kernel, constant(tape, {1}, {0}),
                           {.stride = stride, .padding = padding});
  };
  // 4 pixels, window 3, stride 2: one zero, and that behind the last.
  EXPECT_THAT(items(shape_of(4, 3, 2, nn::Padding::same)), ElementsAre(9, 6, 6, 4));
  EXPECT_THAT(items(shape_of(4, 3, 2, nn::Padding::valid)), ElementsAre(9));
  EXPECT_THAT(items(shape_of(3, 2, 1, nn::Padding::valid)), ElementsAre(4, 4, 4, 4));
  EXPECT_EQ(shape_of(7, 3, 2, nn::Padding::same).shape(), (Shape{1, 4, 4, 1}));
  EXPECT_EQ(shape_of(2, 3, 1, nn::Padding::valid).shape(), (Shape{1, 0, 0, 1}));
}

TEST(Layers, DropoutDependsOnSeedStepReplicaAndPlaceAlone) {
  const auto drawn = [](TapeOptions options) {
    Tape tape(options);
    const TapeValue x =
        tape.constant(Tensor::copy_of<float>({1000}, std::vector<float>(1000, 1.0F)));
    const nn::Dropout layer(0.25);
    std::vector<std::vector<float>> both = {items(layer.apply(tape, x)),
                                            items(layer.apply(tape, x))};
    return both;
  };
  const auto first = drawn({.training = true, .seed = 7, .step = 3});
  EXPECT_EQ(first, drawn({.training = true, .width = VectorWidth::portable, .seed = 7, .step = 3}));
  EXPECT_NE(first[0], first[1]);
  EXPECT_NE(first[0], drawn({.training = true, .seed = 8, .step = 3})[0]);
  EXPECT_NE(first[0], drawn({.training = true, .seed = 7, .step = 4})[0]);
  EXPECT_NE(first[0], drawn({.training = true, .replica = 1, .seed = 7, .step = 3})[0]);
  EXPECT_NEAR(static_cast<double>(std::ranges::count(first[0], 0.0F)), 250, 60);
  for (const float value : first[0]) EXPECT_TRUE(value == 0 || value == 1 / 0.75F) << value;
  EXPECT_EQ(drawn({.seed = 7})[0], std::vector<float>(1000, 1.0F));
}

TEST(Layers, BatchNormKeepsRunningStatisticsForInference) {
  Scope scope;
  const nn::BatchNorm layer(scope.below("norm"), 1, {.momentum = 0.75F, .epsilon = 0});
  Tape tape({.training = true});
  // Mean 4, variance 4.
  const TapeValue y = layer.apply(tape, constant(tape, {2, 1}, {2, 6}));
  EXPECT_THAT(items(y), ElementsAre(-1, 1));
  ASSERT_EQ(tape.updates().size(), 2);
  EXPECT_EQ(tape.updates()[0].first.name(), "norm/mean");
  EXPECT_EQ(tape.updates()[0].second.values<float>()[0], 1.0F);   // 0 * 3/4 + 4 / 4
  EXPECT_EQ(tape.updates()[1].second.values<float>()[0], 1.75F);  // 1 * 3/4 + 4 / 4
  for (const auto& [variable, value] : tape.updates()) {
    EXPECT_FALSE(variable.trainable());
    Variable(variable).assign(value);
  }
  scope.variables()[3].assign(Tensor::copy_of({1}, {4.0F}));
  Tape inference;
  EXPECT_THAT(items(layer.apply(inference, constant(inference, {2, 1}, {1, 5}))),
              ElementsAre(0, 2));
  EXPECT_TRUE(inference.updates().empty());
  Tape of_nobody({.training = true});
  layer.apply(of_nobody, of_nobody.constant(Tensor(DType::float32, {0, 1})));
  EXPECT_TRUE(of_nobody.updates().empty());  // no examples say nothing about the mean
}

TEST(Layers, EmbeddingsNameABadIdAndItsPlace) {
  Scope scope;
  const nn::Embedding layer(scope.below("words"), 10, 4);
  Tape tape;
  EXPECT_EQ(
      layer.apply(tape, tape.constant(Tensor::copy_of<std::int32_t>({2, 3}, {0, 1, 2, 3, 4, 9})))
          .shape(),
      (Shape{2, 3, 4}));
  EXPECT_EQ(error_message([&] {
              layer.apply(tape, constant(tape, {2, 3}, {0, 1, 2, 3, 4, 10}));
            }),
            "id 10 at [1, 2] of its batch [2, 3]; the table has rows 0 to 9");
  EXPECT_EQ(error_message([&] {
              layer.apply(tape, constant(tape, {2}, {0, 0.5F}));
            }),
            "id 0.5 at [1] of its batch [2]; the table has rows 0 to 9");
  EXPECT_EQ(error_message([&] { layer.apply(tape, constant(tape, {1}, {-1})); }),
            "id -1 at [0] of its batch [1]; the table has rows 0 to 9");
}

TEST(Layers, WhatTheyCannotBeIsNamed) {
  Scope scope;
  EXPECT_EQ(error_message([&] { nn::Dense(scope, 0, 3); }),
            "a layer with 0 inputs; it takes 1 or more");
  EXPECT_EQ(error_message([&] { nn::SelfAttention(scope.below("a"), 6, 4); }),
            "self-attention of 6 features in 4 heads; the heads must divide them");
  Tape tape({.training = true});
  const TapeValue x = constant(tape, {1, 2}, {1, 2});
  EXPECT_EQ(error_message([&] { nn::Dropout(1).apply(tape, x); }),
            "dropout with a rate of 1; it takes 0 to below 1");
  constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
  EXPECT_EQ(error_message([&] { nn::LayerNorm(scope.below("e"), 3, kNan); }),
            "a norm with epsilon nan; it takes 0 or more");
  EXPECT_EQ(error_message([&] { nn::BatchNorm(scope.below("f"), 3, {.epsilon = kNan}); }),
            "a norm with epsilon nan; it takes 0 or more");
  EXPECT_EQ(error_message([&] { nn::BatchNorm(scope.below("m"), 3, {.momentum = kNan}); }),
            "a batch norm with momentum nan; it takes 0 to 1");
  EXPECT_EQ(error_message([&] { nn::max_pool(tape, x, 2); }),
            "max_pool of [1, 2] by 2; expected images [examples, height, width, channels] and a "
            "size of 1 or more");
  EXPECT_EQ(error_message([&] { nn::average_of_rows(tape, x); }),
            "average_of_rows of [1, 2]; expected examples of rows of features");
  EXPECT_EQ(error_message([&] { nn::LayerNorm(scope.below("n"), 3).apply(tape, x); }),
            "layer_norm of [1, 2] with [3]: the shapes don't fit");
  EXPECT_EQ(error_message([&] { nn::add_table(tape, x, constant(tape, {1}, {1})); }),
            "a table [1] can't be added to each example of [1, 2]; its shape must be the end of "
            "theirs");
  EXPECT_EQ(error_message([&] {
              nn::convolution(tape, constant(tape, {1, 1, 1, 1}, {1}),
                              constant(tape, {1, 1, 1, 1}, {1}), constant(tape, {1}, {1}),
                              {.stride = 0});
            }),
            "a convolution with a stride of 0; it takes 1 to 2147483647 pixels");
  EXPECT_EQ(error_message([&] {
              nn::convolution(tape, constant(tape, {1, 2, 2, 1}, {1, 2, 3, 4}),
                              constant(tape, {1, 1, 1, 1}, {1}),
                              {.stride = std::numeric_limits<std::int64_t>::max()});
            }),
            "a convolution with a stride of 9223372036854775807; it takes 1 to 2147483647 pixels");
  const TapeValue first_pixel =
      nn::convolution(tape, constant(tape, {1, 2, 2, 1}, {1, 2, 3, 4}),
                      constant(tape, {1, 1, 1, 1}, {2}), {.stride = 2147483647});
  EXPECT_EQ(first_pixel.shape(), (Shape{1, 1, 1, 1}));
  EXPECT_EQ(first_pixel.values()[0], 2);
  EXPECT_EQ(error_message([&] {
              nn::convolution(tape, constant(tape, {1, 1, 1, 1}, {1}),
                              constant(tape, {1, 1, 1, 1}, {1}), constant(tape, {2}, {1, 2}));
            }),
            "the bias of [1, 1, 1, 1] with [2]: the shapes don't fit");
  EXPECT_EQ(error_message([&] { nn::mean_squared_error(tape, x, constant(tape, {1}, {1})); }),
            "mean squared error of [1, 2] against targets [1]; expected the same shape, with an "
            "axis of examples");
  EXPECT_EQ(error_message([&] {
              nn::binary_cross_entropy(tape, x, constant(tape, {1, 2}, {1, 2}));
            }),
            "target 2 at item 1; binary cross entropy takes 0 to 1");
}

TEST(Layers, BinaryCrossEntropyOverflowsNowhere) {
  Tape tape;
  const TapeValue losses = nn::binary_cross_entropy(
      tape, constant(tape, {4, 1}, {1000, -1000, 1000, 0}), constant(tape, {4, 1}, {1, 0, 0, 1}));
  EXPECT_THAT(items(losses), ElementsAre(0, 0, 1000, testing::FloatEq(0.693147181F)));
}

}  // namespace
}  // namespace infeed
