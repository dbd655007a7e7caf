#include "infeed/device/optimizer.h"

#include <array>
#include <cmath>
#include <gtest/gtest.h>

#include <infeed/error.h>

#include "infeed/device/all_reduce.h"

namespace infeed {
namespace {

// By hand, Keras's defaults, gradient 0.5 then -1: m = 0.05 then -0.055; v = 0.00025 then
// 0.00124975.
TEST(Adam, FirstTwoStepsAreTheOnesWorkedOutByHand) {
  Adam adam(1);
  std::array<float, 1> parameter = {1.0F};
  adam.begin_step();
  adam.update(parameter, std::array{0.5F}, 0, 1);
  EXPECT_NEAR(adam.first_moments()[0], 0.05, 1e-8);
  EXPECT_NEAR(adam.second_moments()[0], 0.00025, 1e-10);
  EXPECT_NEAR(parameter[0], 0.999, 2e-7);  // the first step is the rate, whatever the gradient
  adam.begin_step();
  adam.update(parameter, std::array{-1.0F}, 0, 1);
  EXPECT_NEAR(adam.first_moments()[0], -0.055, 1e-8);
  EXPECT_NEAR(adam.second_moments()[0], 0.00124975, 1e-9);
  const double alpha = 0.001 * std::sqrt(1 - 0.999 * 0.999) / (1 - 0.9 * 0.9);
  EXPECT_NEAR(parameter[0], 0.999 + 0.055 * alpha / (std::sqrt(0.00124975) + 1e-7), 3e-7);
  EXPECT_EQ(adam.steps(), 2);
}

TEST(Adam, ContinuesWhereItWasSaved) {
  Adam first(3), second(3);
  std::array<float, 3> a = {1, 2, 3};
  const std::array<float, 3> gradients = {0.1F, -0.2F, 0.3F};
  const auto step = [&](Adam& adam, std::array<float, 3>& parameters) {
    adam.begin_step();
    adam.update(parameters, gradients, 0, 2);
    adam.update(parameters, gradients, 2, 3);  // ranges don't matter
  };
  for (int i = 0; i < 7; ++i) step(first, a);
  auto b = a;
  second.restore(7, {first.first_moments().begin(), first.first_moments().end()},
                 {first.second_moments().begin(), first.second_moments().end()});
  for (int i = 0; i < 5; ++i) {
    step(first, a);
    step(second, b);
  }
  EXPECT_EQ(a, b);
  EXPECT_THROW(second.restore(1, {0, 0}, {0, 0, 0}), Error);
  EXPECT_THROW(second.restore(-1, {0, 0, 0}, {0, 0, 0}), Error);
}

TEST(Adam, WrongOptionsAreRefused) {
  EXPECT_THROW(Adam(1, {.learning_rate = 0}), Error);
  EXPECT_THROW(Adam(1, {.learning_rate = std::nan("")}), Error);
  EXPECT_THROW(Adam(1, {.beta_1 = 1}), Error);
  EXPECT_THROW(Adam(1, {.epsilon = 0}), Error);
}

TEST(TreeReduce, AddsPairsOfPairsWhateverTheRange) {
  // Values for which float32 addition in another order gives another result.
  std::vector<std::vector<float>> buffers;
  for (int r = 0; r < 8; ++r) {
    buffers.push_back({std::pow(10.0F, static_cast<float>(r)) / 3, 0.1F * static_cast<float>(r)});
  }
  const auto tree = [&](std::size_t i) {
    const auto at = [&](int r) { return buffers[static_cast<std::size_t>(r)][i]; };
    return ((at(0) + at(1)) + (at(2) + at(3))) + ((at(4) + at(5)) + (at(6) + at(7)));
  };
  const std::vector<float> expected = {tree(0), tree(1)};
  std::vector<float*> replicas;
  for (auto& buffer : buffers) replicas.push_back(buffer.data());
  tree_reduce(replicas, 1, 2);
  tree_reduce(replicas, 0, 1);
  EXPECT_EQ(buffers[0], expected);
}

TEST(TreeReduce, AReplicaWithoutAPartnerWaitsForTheNextLevel) {
  for (const int replicas : {1, 2, 3, 5, 6, 7, 13}) {
    std::vector<float> values(static_cast<std::size_t>(replicas));
    std::vector<float*> pointers;
    for (int r = 0; r < replicas; ++r) {
      values[static_cast<std::size_t>(r)] = static_cast<float>(1 << r);
      pointers.push_back(&values[static_cast<std::size_t>(r)]);
    }
    tree_reduce(pointers, 0, 1);
    EXPECT_EQ(values[0], static_cast<float>((1 << replicas) - 1));  // everyone exactly once
  }
  std::vector<float> three = {1.0F, 0x1p-24F, 0x1p-24F};
  std::vector<float*> pointers = {&three[0], &three[1], &three[2]};
  tree_reduce(pointers, 0, 1);
  EXPECT_EQ(three[0], 1.0F);  // (1 + 2^-24) + 2^-24: both are rounded away
}

}  // namespace
}  // namespace infeed
