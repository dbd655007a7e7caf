#include "infeed/device/split_dense.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <gtest/gtest.h>
#include <iterator>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <infeed/device/losses.h>
#include <infeed/device/optimizers.h>

#include "device/error_message.h"
#include "device/nn/gradient_check.h"

namespace infeed {
namespace {

using nn::Split;

constexpr std::int64_t kIn = 12;
constexpr std::int64_t kHidden = 8;
constexpr std::int64_t kOut = 4;

Tensor inputs() {
  Scope scope({.seed = 11});
  return scope.draw({5, kIn}, Initializer::he_normal);
}

std::vector<float> items(const Tensor& tensor) {
  return {tensor.values<float>().begin(), tensor.values<float>().end()};
}

double largest_difference(const std::vector<float>& a, const std::vector<float>& b) {
  double largest = a.size() == b.size() ? 0 : 1;
  for (std::size_t i = 0; i < std::min(a.size(), b.size()); ++i) {
    largest = std::max(largest, std::abs(static_cast<double>(a[i]) - b[i]));
  }
  return largest;
}

/// The output of a network of two layers, and the change of its kernels by one step.
struct Outcome {
  std::vector<float> outputs;
  std::vector<float> hidden;
  std::vector<float> logits;
};

template <class Layer>
Outcome outcome_of(const Scope& scope, const Layer& hidden, const Layer& logits,
                   const std::function<Tensor(const Layer&)>& kernel) {
  Tape tape({.training = true});
  const TapeValue y = logits.apply(tape, hidden.apply(tape, tape.constant(inputs())));
  nn::Sgd sgd(scope.below("sgd"), scope.variables(), {.rate = nn::constant_rate(0.5)});
  sgd.apply(tape.gradients(nn::sum(tape, nn::tanh(tape, y))));
  return {.outputs = items(y.tensor()),
          .hidden = items(kernel(hidden)),
          .logits = items(kernel(logits))};
}

Outcome whole() {
  Scope scope({.seed = 3});
  const nn::Dense hidden(scope.below("hidden"), kIn, kHidden, {.activation = nn::Activation::gelu});
  const nn::Dense logits(scope.below("logits"), kHidden, kOut);
  return outcome_of<nn::Dense>(scope, hidden, logits, [&](const nn::Dense& layer) {
    return scope.variables()[&layer == &hidden ? 0 : 2].value();
  });
}

/// Joins the parts of a layer's "kernel" or "bias" as Dense has them.
Tensor joined(const Scope& scope, const std::string& layer, const std::string& name, Split split) {
  Tape tape;
  std::vector<TapeValue> parts;
  std::vector<float> all;
  for (const Variable& variable : scope.variables()) {
    if (!variable.name().starts_with(layer + "part") || !variable.name().ends_with(name)) continue;
    parts.push_back(tape.constant(variable.value()));
    std::ranges::copy(parts.back().values(), std::back_inserter(all));
  }
  if (split == Split::columns) return nn::join_columns(tape, parts).tensor();
  return Tensor::copy_of({std::ssize(all)}, std::span<const float>(all));
}

Outcome split(std::int64_t parts) {
  Scope scope({.seed = 3});
  const nn::SplitDense hidden(
      scope.below("hidden"), kIn, kHidden,
      {.split = Split::columns, .parts = parts, .activation = nn::Activation::gelu});
  const nn::SplitDense logits(scope.below("logits"), kHidden, kOut,
                              {.split = Split::rows, .parts = parts});
  return outcome_of<nn::SplitDense>(scope, hidden, logits, [&](const nn::SplitDense& layer) {
    return &layer == &hidden ? joined(scope, "hidden/", "kernel", Split::columns)
                             : joined(scope, "logits/", "kernel", Split::rows);
  });
}

TEST(SameBits, OfSplitLayersAndUnsplitOnes) {
  const Outcome unsplit = whole();
  for (const std::int64_t parts : {1, 2, 4}) {
    const Outcome other = split(parts);
    EXPECT_LT(largest_difference(other.outputs, unsplit.outputs), 1e-5) << parts;
    EXPECT_LT(largest_difference(other.hidden, unsplit.hidden), 1e-5) << parts;
    EXPECT_LT(largest_difference(other.logits, unsplit.logits), 1e-5) << parts;
  }
}

TEST(SplitDense, ByColumnsGivesWhatDenseGives) {
  Scope one({.seed = 3});
  Scope two({.seed = 3});
  const nn::Dense dense(one, kIn, kHidden);
  const nn::SplitDense split_dense(two, kIn, kHidden, {.parts = 4});
  Tape tape;
  const TapeValue x = tape.constant(inputs());
  EXPECT_EQ(items(split_dense.apply(tape, x).tensor()), items(dense.apply(tape, x).tensor()));
  EXPECT_EQ(items(joined(two, "", "kernel", Split::columns)), items(one.variables()[0].value()));
  EXPECT_EQ(items(joined(two, "", "bias", Split::columns)), std::vector<float>(kHidden, 0));
  // Later draws are the same, too.
  EXPECT_EQ(items(one.draw({3}, Initializer::he_normal)),
            items(two.draw({3}, Initializer::he_normal)));
}

TEST(SplitDense, NamesThePartsAndTheDevicesThatRunThem) {
  std::vector<std::pair<std::string, std::int32_t>> ran;
  Scope scope;
  const nn::SplitDense columns(scope.below("a"), 4, 4, {.parts = 2});
  const nn::SplitDense rows(scope.below("b"), 4, 4, {.split = Split::rows, .parts = 2});
  Tape tape({.devices = 2, .on_operation = [&](const TapeOperation& operation) {
               ran.emplace_back(operation.name, operation.device);
             }});
  rows.apply(tape, columns.apply(tape, tape.constant(Tensor(DType::float32, {1, 4}))));
  using Ran = std::vector<std::pair<std::string, std::int32_t>>;
  EXPECT_EQ(ran, (Ran{{"dense", 0},
                      {"dense", 1},
                      {"join_columns", 0},
                      {"take_columns", 0},
                      {"matrix_product", 0},
                      {"take_columns", 1},
                      {"matrix_product", 1},
                      {"add", 0},
                      {"add_table", 0}}));
  std::vector<std::string> names;
  for (const Variable& variable : scope.variables()) names.push_back(variable.name());
  EXPECT_EQ(names, (std::vector<std::string>{"a/part0/kernel", "a/part0/bias", "a/part1/kernel",
                                             "a/part1/bias", "b/part0/kernel", "b/part1/kernel",
                                             "b/bias"}));
}

TEST(SplitDense, WhatDoesNotFitIsNamed) {
  Scope scope;
  EXPECT_EQ(error_message([&] { nn::SplitDense(scope, 8, 6, {.parts = 4}); }),
            "a layer with 6 outputs split into 4 parts; they must divide it evenly");
  EXPECT_EQ(error_message([&] { nn::SplitDense(scope, 6, 8, {.split = Split::rows, .parts = 4}); }),
            "a layer with 6 inputs split into 4 parts; they must divide it evenly");
  EXPECT_EQ(error_message([&] { nn::SplitDense(scope, 0, 8, {.parts = 4}); }),
            "a layer with 0 inputs split into 1 parts; they must divide it evenly");
  const nn::SplitDense rows(scope.below("r"), 8, 2, {.split = Split::rows, .parts = 4});
  Tape tape;
  EXPECT_EQ(error_message([&] {
              rows.apply(tape, tape.constant(Tensor(DType::float32, {1, 4})));
            }),
            "a layer of 8 inputs can't take [1, 4]");
  Tape two({.devices = 2});
  EXPECT_EQ(error_message([&] {
              rows.apply(two, two.constant(Tensor(DType::float32, {1, 8})));
            }),
            "variable r/part0/kernel belongs to a layer that is split into 4 parts, and a replica "
            "has 2 devices; set StrategyOptions::devices_of_replica, or split the layer so");
}

TEST(Gradients, OfColumnsTakenAndJoined) {
  expect_gradients({{3, 5}, {3, 2}}, [](Tape& tape, const auto& v) {
    return nn::join_columns(tape, {nn::take_columns(tape, v[0], 1, 3), v[1]});
  });
}

TEST(Operations, ColumnsThatDoNotFitAreNamed) {
  Tape tape;
  const TapeValue x = tape.constant(Tensor(DType::float32, {2, 3}));
  EXPECT_EQ(error_message([&] { nn::take_columns(tape, x, 2, 2); }),
            "2 columns from 2 on of [2, 3]; they must lie in its last axis");
  const TapeValue other = tape.constant(Tensor(DType::float32, {1, 3}));
  EXPECT_EQ(error_message([&] {
              nn::join_columns(tape, {x, other});
            }),
            "[1, 3] can't stand beside [2, 3]: all extents but the last must be alike");
  EXPECT_EQ(error_message([&] { nn::join_columns(tape, {}); }), "no parts to join");
}

}  // namespace
}  // namespace infeed
