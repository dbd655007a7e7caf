#include "infeed/device/operations.h"

#include <gmock/gmock.h>

#include <infeed/device/losses.h>

#include "device/nn/gradient_check.h"

namespace infeed {
namespace {

TEST(Gradients, OfDense) {
  expect_gradients({{5, 3}, {3, 4}, {4}}, [](Tape& tape, const auto& v) {
    return nn::gelu(tape, nn::dense(tape, v[0], v[1], v[2]));
  });
}

TEST(Gradients, OfAValueThatIsUsedTwice) {
  expect_gradients({{4, 3}, {3, 3}}, [](Tape& tape, const auto& v) {
    const TapeValue y = nn::matrix_product(tape, v[0], v[1]);
    return nn::add(tape, nn::matrix_product(tape, y, v[1]), y);
  });
}

TEST(Gradients, OfConvolutionAndPooling) {
  expect_gradients({{2, 5, 4, 2}, {3, 3, 2, 3}, {3}}, [](Tape& tape, const auto& v) {
    return nn::max_pool(tape, nn::convolution(tape, v[0], v[1], v[2]), 2);
  });
}

TEST(Gradients, OfAttention) {
  expect_gradients({{2, 3, 4}, {2, 3, 4}, {2, 3, 4}}, [](Tape& tape, const auto& v) {
    return nn::attention(tape, v[0], v[1], v[2], 2);
  });
}

TEST(Gradients, OfReluAndCrossEntropy) {
  const std::vector<std::int32_t> labels = {0, 2, 1};
  expect_gradients({{3, 4}, {4, 3}}, [&](Tape& tape, const auto& v) {
    const TapeValue y = nn::matrix_product(tape, nn::relu(tape, v[0]), v[1]);
    return nn::softmax_cross_entropy(tape, nn::reshape(tape, y, {3, 3}), labels);
  });
}

/// A step's gradients, one behind the other.
std::vector<float> gradients_of_a_step(const TapeOptions& options) {
  Scope scope({.seed = 1});
  const Variable kernel = scope.variable("conv", {3, 3, 1, 8}, Initializer::he_normal);
  const Variable zero = scope.variable("zero", {8}, Initializer::zeros);
  const Variable head = scope.variable("head", {128, 10}, Initializer::glorot_uniform);
  const Variable images = scope.variable("images", {4, 8, 8, 1}, Initializer::glorot_uniform);
  Tape tape(options);
  TapeValue x = nn::convolution(tape, tape.read(images), tape.read(kernel), tape.read(zero));
  x = nn::max_pool(tape, nn::gelu(tape, x), 2);
  x = nn::attention(tape, nn::reshape(tape, x, {4, 16, 8}), nn::reshape(tape, x, {4, 16, 8}),
                    nn::reshape(tape, x, {4, 16, 8}), 2);
  x = nn::matrix_product(tape, nn::reshape(tape, x, {4, 128}), tape.read(head));
  const TapeValue losses =
      nn::softmax_cross_entropy(tape, x, std::vector<std::int32_t>{1, 2, 3, 9});
  std::vector<float> all;
  for (const auto& [variable, gradient] : tape.gradients(nn::average_loss(tape, losses, 4))) {
    all.insert(all.end(), gradient.values<float>().begin(), gradient.values<float>().end());
  }
  return all;
}

TEST(SameBits, OfGradientsAtEveryVectorWidth) {
  for (const Precision precision :
       {Precision::float32, Precision::mixed_bfloat16, Precision::mixed_float16}) {
    const auto at = [&](VectorWidth width) {
      return gradients_of_a_step({.training = true, .precision = precision, .width = width});
    };
    const std::vector<float> portable = at(VectorWidth::portable);
    for (const VectorWidth width :
         {VectorWidth::bits_128, VectorWidth::bits_256, VectorWidth::bits_512}) {
      EXPECT_EQ(at(width), portable);
    }
  }
}

TEST(Operations, WhatDoesNotFitIsNamed) {
  Tape tape({.training = true});
  const TapeValue x = tape.constant(Tensor::copy_of({1, 2}, {1.0F, 2.0F}));
  const TapeValue w = tape.constant(Tensor::copy_of({1, 2}, {1.0F, 2.0F}));
  EXPECT_EQ(error_message([&] { nn::matrix_product(tape, x, w); }),
            "the product of [1, 2] with [1, 2]: the shapes don't fit");
  EXPECT_EQ(
      error_message([&] { nn::softmax_cross_entropy(tape, x, std::vector<std::int32_t>{2}); }),
      "label 2 of example 0 in its batch; the model has classes 0 to 1");
  EXPECT_THAT(error_message([&] { tape.gradients(x); }),
              testing::StartsWith("gradients are of one"));
  Scope scope;
  const Variable mine = scope.variable("mine", {1}, Initializer::ones);
  EXPECT_EQ(error_message([&] { scope.variable("mine", {1}, Initializer::ones); }),
            "the scope has a variable mine already; give the layer another name");
  Tape of_a_strategy({.strategy = std::make_shared<int>(1)});
  EXPECT_THAT(error_message([&] { of_a_strategy.read(mine); }),
              testing::StartsWith("variable mine was made outside the scope"));
  EXPECT_THAT(error_message([] { precision_from("float8"); }),
              testing::HasSubstr("mixed_bfloat16"));
}

TEST(Operations, NoExamplesAreNoError) {
  Scope scope;
  const Variable kernel = scope.variable("kernel", {2, 3}, Initializer::ones);
  Tape tape({.training = true});
  const TapeValue x = tape.constant(Tensor(DType::float32, {0, 2}));
  const TapeValue losses =
      nn::softmax_cross_entropy(tape, nn::matrix_product(tape, x, tape.read(kernel)), {});
  const Gradients gradients = tape.gradients(nn::average_loss(tape, losses, 8));
  for (const float value : gradients[0].second.values<float>()) EXPECT_EQ(value, 0);
}

}  // namespace
}  // namespace infeed
