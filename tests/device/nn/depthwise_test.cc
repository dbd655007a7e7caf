#include "infeed/device/depthwise.h"

#include <cmath>
#include <gmock/gmock.h>
#include <string>
#include <vector>

#include <infeed/device/losses.h>
#include <infeed/records/bfloat16.h>

#include "device/nn/gradient_check.h"

namespace infeed {
namespace {

using testing::ElementsAre;
using testing::ElementsAreArray;

/// Returns whole numbers -subtract, ..., modulo - 1 - subtract, as the TensorFlow program below
/// drew them.
Tensor whole_numbers(const Shape& shape, std::int64_t factor, std::int64_t modulo,
                     std::int64_t subtract) {
  Tensor tensor(DType::float32, shape);
  std::int64_t i = 0;
  for (float& value : tensor.writable<float>()) {
    value = static_cast<float>(i++ * factor % modulo - subtract);
  }
  return tensor;
}

std::vector<float> floats_of(const Tensor& tensor) {
  return {tensor.values<float>().begin(), tensor.values<float>().end()};
}

struct DepthwiseStep {
  Shape shape;
  std::vector<float> y;
  std::vector<float> images;  ///< gradient
  std::vector<float> kernel;  ///< gradient
};

/// Returns `loss` of a depthwise convolution's output, and its gradients.
template <class Loss>
DepthwiseStep depthwise_step(const Tensor& images, const Tensor& kernel,
                             nn::ConvolutionOptions options, const TapeOptions& tape_options,
                             Loss loss) {
  Scope scope;
  const Variable x = scope.variable("images", images);
  const Variable w = scope.variable("kernel", kernel);
  Tape tape(tape_options);
  const TapeValue of_images = tape.read(x);
  const TapeValue y = nn::depthwise_convolution(tape, of_images, tape.read(w), options);
  const Gradients gradients = tape.gradients(loss(tape, y));
  return {.shape = y.shape(),
          .y = floats_of(y.tensor()),
          .images = floats_of(gradients[0].second),
          .kernel = floats_of(gradients[1].second)};
}

/// The numbers of tf.nn.depthwise_conv2d (TensorFlow 2.21) with stride 2, images [2, 4, 5, 2] of
/// i * 7 % 11 - 5 and a kernel [3, 3, 2, 2] of i * 5 % 13 - 6; the loss is the sum of
/// y[i] * (i * 3 % 7 - 3).
DepthwiseStep step_of_whole_numbers(nn::Padding padding) {
  return depthwise_step(
      whole_numbers({2, 4, 5, 2}, 7, 11, 5), whole_numbers({3, 3, 2, 2}, 5, 13, 6),
      {.stride = 2, .padding = padding}, {.training = true}, [](Tape& tape, const TapeValue& y) {
        const std::int64_t items = y.shape().items();
        return nn::sum(tape, nn::matrix_product(tape, nn::reshape(tape, y, {1, items}),
                                                tape.constant(whole_numbers({items, 1}, 3, 7, 3))));
      });
}

TEST(Depthwise, ValuesAndGradientsAreTensorFlowsWithZerosAtTheEdges) {
  const DepthwiseStep step = step_of_whole_numbers(nn::Padding::same);
  EXPECT_EQ(step.shape, (Shape{2, 2, 3, 4}));
  EXPECT_THAT(step.y,
              ElementsAreArray({37,  -68, -20, -15, -27, 17,  42,  9,   -21, -24, -16, 36,
                                41,  19,  30,  -40, 28,  -24, -24, 5,   20,  -10, 11,  8,
                                -55, 36,  27,  30,  11,  -47, -3,  5,   4,   -1,  27,  -11,
                                5,   -37, -46, 30,  49,  -5,  14,  -24, 18,  1,   -9,  -9}));
  EXPECT_THAT(step.images,
              ElementsAreArray(
                  {-3,  -9,  5,   34,  -10, -11, -13, 2,   18,  8,   12,  20,  7,   -18, -10, 12,
                   -2,  -6,  3,   -10, -8,  3,   -11, -17, 13,  -27, -22, 3,   -29, 20,  9,   -18,
                   1,   -10, -13, 16,  34,  2,   -7,  -6,  11,  7,   23,  3,   -3,  -9,  5,   34,
                   -10, -11, 6,   -14, -19, -2,  12,  20,  7,   -18, -10, 12,  6,   12,  28,  -30,
                   -8,  3,   -11, -17, 13,  -27, 3,   -10, -25, 13,  9,   -18, 1,   -10, -13, 16}));
  EXPECT_THAT(step.kernel,
              ElementsAreArray({-46, 27,  27,  -46, 14,  -27, 33,  4,   40, -13, 18, -13,
                                11,  -26, -19, 40,  47,  -12, -47, 10,  5,  3,   18, -7,
                                -20, 23,  -5,  -14, -23, 14,  -4,  -24, 32, -2,  17, 1}));
}

TEST(Depthwise, ValuesAndGradientsAreTensorFlowsWithWindowsInside) {
  const DepthwiseStep step = step_of_whole_numbers(nn::Padding::valid);
  EXPECT_EQ(step.shape, (Shape{2, 1, 2, 4}));
  EXPECT_THAT(step.y,
              ElementsAre(3, -4, -41, 18, 42, -6, -7, -44, 52, -2, -9, -52, 3, -4, -41, 18));
  EXPECT_THAT(step.images,
              ElementsAreArray({18,  16,  -3,  -9,  5,  34,  -10, -11, -10, 14, -6,  -7,  12,  20,
                                7,   -18, -10, 12,  16, -15, 9,   -17, -12, -3, -4,  -18, 16,  -17,
                                -10, -5,  0,   0,   0,  0,   0,   0,   0,   0,  0,   0,   -3,  -12,
                                18,  8,   11,  -23, 4,  6,   10,  -15, -18, 9,  3,   -10, -25, 13,
                                9,   -18, -11, 0,   6,  4,   -12, 11,  17,  23, -12, -3,  7,   15,
                                0,   0,   0,   0,   0,  0,   0,   0,   0,   0}));
  EXPECT_THAT(step.kernel, ElementsAreArray({27,  -7, 1, -1, 18,  -1, 1, -7, -13, -6, 1, -2,
                                             15,  1,  1, 2,  -16, -4, 1, -4, -25, 2,  1, 1,
                                             -19, -2, 1, -6, 27,  -7, 1, -1, 18,  -1, 1, -7}));
}

TEST(Gradients, OfDepthwiseConvolution) {
  for (const nn::Padding padding : {nn::Padding::same, nn::Padding::valid}) {
    for (const std::int64_t multiplier : {1, 3}) {
      for (const std::int64_t stride : {1, 2}) {
        expect_gradients({{2, 5, 4, 2}, {3, 2, 2, multiplier}}, [&](Tape& tape, const auto& v) {
          return nn::depthwise_convolution(tape, v[0], v[1],
                                           {.stride = stride, .padding = padding});
        });
      }
    }
  }
}

TEST(Depthwise, OfManyChannelsIsThatOfEachAlone) {
  const std::int64_t channels = 37;  // no multiple of any vector
  const Tensor images = whole_numbers({1, 6, 5, channels}, 7, 11, 5);
  const Tensor kernel = whole_numbers({3, 3, channels, 1}, 5, 13, 6);
  const auto part = [](const Tensor& of_all, const Shape& shape, std::int64_t channel) {
    Tensor of_one(DType::float32, shape);
    for (std::int64_t i = 0; i < shape.items(); ++i) {
      of_one.writable<float>()[static_cast<std::size_t>(i)] =
          of_all.values<float>()[static_cast<std::size_t>(i * channels + channel)];
    }
    return of_one;
  };
  Tape tape;
  const TapeValue all =
      nn::depthwise_convolution(tape, tape.constant(images), tape.constant(kernel));
  for (std::int64_t channel = 0; channel < channels; ++channel) {
    const TapeValue alone =
        nn::convolution(tape, tape.constant(part(images, {1, 6, 5, 1}, channel)),
                        tape.constant(part(kernel, {3, 3, 1, 1}, channel)));
    EXPECT_EQ(floats_of(part(all.tensor(), alone.shape(), channel)), floats_of(alone.tensor()))
        << channel;
  }
}

Tensor noise_of(const Shape& shape) {
  return Scope({.seed = 9}).draw(shape, Initializer::glorot_uniform);
}

Tensor as_bfloat16(const Tensor& tensor) {
  Tensor rounded = Tensor::copy_of(tensor.shape(), tensor.values<float>());
  for (float& value : rounded.writable<float>()) value = static_cast<float>(bfloat16(value));
  return rounded;
}

DepthwiseStep step_of_noise(const Tensor& images, const Tensor& kernel, float scale,
                            const TapeOptions& options) {
  return depthwise_step(
      images, kernel, {.stride = 2}, options, [scale](Tape& tape, const TapeValue& y) {
        return nn::sum(tape, nn::scale(tape, y, scale));  // the gradient that arrives at y
      });
}

TEST(Depthwise, OperandsAreRoundedAndSumsAreNot) {
  for (const std::int64_t multiplier : {1, 2}) {
    const Tensor images = noise_of({2, 7, 7, 5});
    const Tensor kernel = noise_of({3, 3, 5, multiplier});
    const float scale = 1.2345678F;
    const DepthwiseStep mixed = step_of_noise(
        images, kernel, scale, {.training = true, .precision = Precision::mixed_bfloat16});
    const DepthwiseStep rounded =
        step_of_noise(as_bfloat16(images), as_bfloat16(kernel), static_cast<float>(bfloat16(scale)),
                      {.training = true});
    EXPECT_EQ(mixed.y, rounded.y);
    EXPECT_EQ(mixed.images, rounded.images);
    EXPECT_EQ(mixed.kernel, rounded.kernel);
    EXPECT_NE(mixed.y, step_of_noise(images, kernel, scale, {.training = true}).y);
  }
}

TEST(SameBits, OfDepthwiseConvolutionAtEveryVectorWidth) {
  for (const Precision precision :
       {Precision::float32, Precision::mixed_bfloat16, Precision::mixed_float16}) {
    const auto at = [&](VectorWidth width) {
      return step_of_noise(noise_of({3, 9, 8, 19}), noise_of({3, 3, 19, 2}), 1.5F,
                           {.training = true, .precision = precision, .width = width});
    };
    const DepthwiseStep portable = at(VectorWidth::portable);
    for (const VectorWidth width :
         {VectorWidth::bits_128, VectorWidth::bits_256, VectorWidth::bits_512}) {
      const DepthwiseStep wide = at(width);
      EXPECT_EQ(wide.y, portable.y);
      EXPECT_EQ(wide.images, portable.images);
      EXPECT_EQ(wide.kernel, portable.kernel);
    }
  }
}

TEST(Depthwise, NoExamplesAreNoError) {
  const DepthwiseStep step = step_of_noise(Tensor(DType::float32, {0, 4, 4, 2}),
                                           noise_of({3, 3, 2, 1}), 1, {.training = true});
  EXPECT_EQ(step.shape, (Shape{0, 2, 2, 2}));
  EXPECT_EQ(step.kernel, std::vector<float>(18, 0.0F));
}

TEST(Depthwise, WhatDoesNotFitIsNamed) {
  Tape tape;
  const TapeValue images = tape.constant(noise_of({1, 4, 4, 2}));
  EXPECT_EQ(error_message([&] {
              nn::depthwise_convolution(tape, images, tape.constant(noise_of({3, 3, 3, 1})));
            }),
            "the depthwise convolution of [1, 4, 4, 2] with [3, 3, 3, 1]: the shapes don't fit");
  EXPECT_EQ(error_message([&] {
              nn::depthwise_convolution(tape, images, tape.constant(noise_of({3, 3, 2, 1})),
                                        {.stride = 0});
            }),
            "a convolution with a stride of 0; it takes 1 to 2147483647 pixels");
  Scope scope;
  EXPECT_EQ(error_message([&] { nn::DepthwiseConvolution(scope, 3, {.multiplier = 0}); }),
            "a layer with 0 channels for each one; it takes 1 or more");
  EXPECT_EQ(error_message([&] { nn::SeparableConvolution(scope, 0, 3); }),
            "a layer with 0 channels; it takes 1 or more");
}

std::vector<std::string> variables_with_shapes(const Scope& scope) {
  std::vector<std::string> all;
  for (const Variable& variable : scope.variables()) {
    all.push_back(variable.name() + " " + variable.shape().to_string());
  }
  return all;
}

TEST(DepthwiseConvolution, AddsItsBiasAndItsActivation) {
  Scope scope({.seed = 1});
  const nn::DepthwiseConvolution layer(
      scope.below("depthwise"), 2,
      {.stride = 2, .multiplier = 2, .activation = nn::Activation::relu});
  EXPECT_THAT(variables_with_shapes(scope),
              ElementsAre("depthwise/kernel [3, 3, 2, 2]", "depthwise/bias [4]"));
  scope.variables()[1].assign(Tensor::copy_of({4}, {-1.0F, 2.0F, 0.0F, 3.0F}));
  Tape tape({.training = true});
  const TapeValue black = layer.apply(tape, tape.constant(whole_numbers({1, 3, 3, 2}, 0, 1, 0)));
  EXPECT_EQ(black.shape(), (Shape{1, 2, 2, 4}));
  EXPECT_THAT(floats_of(black.tensor()),
              ElementsAre(0, 2, 0, 3, 0, 2, 0, 3, 0, 2, 0, 3, 0, 2, 0, 3));
  EXPECT_EQ(tape.gradients(nn::sum(tape, black)).size(), 2U);
}

TEST(DepthwiseConvolution, BeginsAsIfItHadOneChannel) {
  Scope scope({.seed = 1});
  const nn::DepthwiseConvolution layer(scope, 512, {.bias = false});
  EXPECT_THAT(variables_with_shapes(scope), ElementsAre("kernel [3, 3, 512, 1]"));
  double squares = 0;
  for (const float value : floats_of(scope.variables()[0].value())) squares += value * value;
  EXPECT_NEAR(std::sqrt(squares / (9 * 512)), std::sqrt(2.0 / 9), 0.02);
}

/// The numbers of tf.nn.separable_conv2d (TensorFlow 2.21): images [1, 3, 3, 2] of i * 7 % 11 - 5, kernels
/// [2, 2, 2, 2] of i * 5 % 13 - 6 and [1, 1, 4, 3] of i * 3 % 5 - 2.
TEST(SeparableConvolution, IsTensorFlows) {
  Scope scope({.seed = 1});
  const nn::SeparableConvolution layer(scope, 2, 3, {.window = 2, .multiplier = 2});
  EXPECT_THAT(variables_with_shapes(scope),
              ElementsAre("depthwise/kernel [2, 2, 2, 2]", "pointwise/kernel [1, 1, 4, 3]",
                          "pointwise/bias [3]"));
  scope.variables()[0].assign(whole_numbers({2, 2, 2, 2}, 5, 13, 6));
  scope.variables()[1].assign(whole_numbers({1, 1, 4, 3}, 3, 5, 2));
  const auto of_images = [&] {
    Tape tape;
    return floats_of(
        layer.apply(tape, tape.constant(whole_numbers({1, 3, 3, 2}, 7, 11, 5))).tensor());
  };
  std::vector<float> theirs = {29, -33, -25, 12,  101, -25, -37, -18, -44, -77, -49, 129, 71, -3,
                               8,  -40, 5,   -15, 60,  -19, -58, 16,  -45, 79,  -14, 34,  -8};
  EXPECT_EQ(of_images(), theirs);
  scope.variables()[2].assign(Tensor::copy_of({3}, {1.0F, -2.0F, 0.5F}));
  for (std::size_t i = 0; i < theirs.size(); i += 3) {
    theirs[i] += 1;
    theirs[i + 1] -= 2;
    theirs[i + 2] += 0.5F;
  }
  EXPECT_EQ(of_images(), theirs);
}

TEST(SeparableConvolution, EndsWithOneBiasAndOneActivation) {
  Scope scope({.seed = 1});
  const nn::SeparableConvolution layer(
      scope, 2, 3, {.stride = 2, .activation = nn::Activation::relu, .bias = false});
  EXPECT_THAT(variables_with_shapes(scope),
              ElementsAre("depthwise/kernel [3, 3, 2, 1]", "pointwise/kernel [1, 1, 2, 3]"));
  std::vector<std::string> operations;
  Tape tape({.on_operation = [&](const TapeOperation& operation) {
    operations.emplace_back(operation.name);
  }});
  const TapeValue y = layer.apply(tape, tape.constant(noise_of({2, 5, 5, 2})));
  EXPECT_EQ(y.shape(), (Shape{2, 3, 3, 3}));
  EXPECT_THAT(operations, ElementsAre("depthwise_convolution", "convolution", "relu"));
}

}  // namespace
}  // namespace infeed
