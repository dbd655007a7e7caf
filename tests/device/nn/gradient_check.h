#pragma once

#include <cmath>
#include <functional>
#include <gtest/gtest.h>
#include <string>
#include <vector>

#include <infeed/device/losses.h>
#include <infeed/device/operations.h>

#include "device/error_message.h"

namespace infeed {

using Model = std::function<TapeValue(Tape&, const std::vector<TapeValue>&)>;

/// Whether the model reads variables besides those given.
enum class OtherVariables : std::uint8_t { none, not_checked };

/// Compares every gradient of sum(tanh(model(variables))) with the numerical one. The variables are
/// random, of the given shapes.
inline void expect_gradients(const std::vector<Shape>& shapes, const Model& model,
                             OtherVariables others = OtherVariables::none) {
  Scope scope({.seed = 5});
  for (std::size_t i = 0; i < shapes.size(); ++i) {
    scope.variable("v" + std::to_string(i), shapes[i], Initializer::he_normal);
  }
  const std::vector<Variable> variables = scope.variables();
  const auto run = [&](Tape& tape) {
    std::vector<TapeValue> values;
    for (const Variable& variable : variables) values.push_back(tape.read(variable));
    return nn::sum(tape, nn::tanh(tape, model(tape, values)));
  };
  Tape tape({.training = true, .seed = 3});
  const Gradients gradients = tape.gradients(run(tape));
  if (others == OtherVariables::none) {
    ASSERT_EQ(gradients.size(), variables.size());
  }
  double largest = 0;
  for (const auto& [variable, gradient] : gradients) {
    Variable moved = variable;
    const Tensor before = variable.value();
    for (std::size_t i = 0; i < gradient.values<float>().size(); ++i) {
      constexpr float kStep = 4e-3F;
      const auto loss_at = [&](float step) {
        Tensor value = Tensor::copy_of(before.shape(), before.values<float>());
        value.writable<float>()[i] += step;
        moved.assign(value);
        Tape other({.training = true, .seed = 3});
        return static_cast<double>(run(other).item());
      };
      const double slope = (loss_at(kStep) - loss_at(-kStep)) / (2.0 * kStep);
      EXPECT_NEAR(gradient.values<float>()[i], slope, 5e-3) << variable.name() << " " << i;
      largest = std::max(largest, std::abs(slope));
    }
    moved.assign(before);
  }
  EXPECT_GT(largest, 0.05);
}

}  // namespace infeed
