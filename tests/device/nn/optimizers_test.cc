#include "infeed/device/optimizers.h"

#include <cmath>
#include <gmock/gmock.h>
#include <limits>
#include <string>
#include <vector>

#include "device/nn/gradient_check.h"

namespace infeed {
namespace {

using testing::DoubleNear;
using testing::ElementsAre;
using testing::FloatEq;
using testing::FloatNear;
using testing::Pointwise;

/// A kernel of two and a bias of one, with the gradients of three steps.
struct Drill {
  Drill() {
    kernel.assign(Tensor::copy_of({2, 1}, {0.5F, -2.0F}));
    bias.assign(Tensor::copy_of({1}, {1.0F}));
  }
  Gradients gradients(int step) const {
    const auto t = static_cast<float>(step);
    return {{kernel, Tensor::copy_of({2, 1}, {0.25F + t, -1.0F})},
            {bias, Tensor::copy_of({1}, {0.5F - t})}};
  }
  std::vector<float> values() const {
    return {kernel.value().values<float>()[0], kernel.value().values<float>()[1],
            bias.value().values<float>()[0]};
  }
  void take_three_steps(nn::Optimizer& optimizer) const {
    for (int step = 0; step < 3; ++step) optimizer.apply(gradients(step));
  }

  Scope scope;
  Variable kernel = scope.variable("dense/kernel", {2, 1}, Initializer::zeros);
  Variable bias = scope.variable("dense/bias", {1}, Initializer::zeros);
};

/// Computes the same in double, item by item: update(w, g, t, is of the kernel).
template <class Update>
std::vector<double> three_steps(Update update) {
  std::vector<double> w = {0.5, -2.0, 1.0};
  for (int step = 0; step < 3; ++step) {
    const std::vector<double> g = {0.25 + step, -1.0, 0.5 - step};
    update(w, g, step + 1);
  }
  return w;
}

TEST(Optimizers, SgdWithMomentumAndNesterov) {
  for (const bool nesterov : {false, true}) {
    Drill drill;
    nn::Sgd sgd(drill.scope.below("sgd"), drill.scope.variables(),
                {.rate = nn::constant_rate(0.1),
                 .momentum = 0.9,
                 .nesterov = nesterov,
                 .weight_decay = 0.01});
    drill.take_three_steps(sgd);
    std::vector<double> v(3);
    const std::vector<double> expected = three_steps([&](auto& w, const auto& g, int) {
      for (std::size_t i = 0; i < 3; ++i) {
        const double slope = g[i] + (i < 2 ? 0.01 * w[i] : 0);
        v[i] = 0.9 * v[i] - 0.1 * slope;
        w[i] += nesterov ? 0.9 * v[i] - 0.1 * slope : v[i];
      }
    });
    EXPECT_THAT(drill.values(), Pointwise(FloatNear(1e-6F), expected)) << nesterov;
  }
}

TEST(Optimizers, PlainSgdRemembersNothingButItsSteps) {
  Drill drill;
  nn::Sgd sgd(drill.scope.below("sgd"), drill.scope.variables(), {.rate = nn::constant_rate(0.5)});
  sgd.apply(drill.gradients(0), 0.5);
  EXPECT_THAT(drill.values(), ElementsAre(0.4375F, -1.75F, 0.875F));
  EXPECT_EQ(sgd.state().size(), 1);
  EXPECT_EQ(sgd.steps(), 1);
}

TEST(Optimizers, AdamAndAdamW) {
  for (const double decay : {0.0, 0.1}) {
    Drill drill;
    nn::Adam adam(drill.scope.below("adam"), drill.scope.variables(),
                  {.rate = nn::constant_rate(0.01), .weight_decay = decay});
    drill.take_three_steps(adam);
    std::vector<double> m(3);
    std::vector<double> v(3);
    const std::vector<double> expected = three_steps([&](auto& w, const auto& g, int t) {
      for (std::size_t i = 0; i < 3; ++i) {
        m[i] = 0.9 * m[i] + 0.1 * g[i];
        v[i] = 0.999 * v[i] + 0.001 * g[i] * g[i];
        const double alpha = 0.01 * std::sqrt(1 - std::pow(0.999, t)) / (1 - std::pow(0.9, t));
        w[i] -= (i < 2 ? 0.01 * decay * w[i] : 0) + alpha * m[i] / (std::sqrt(v[i]) + 1e-7);
      }
    });
    EXPECT_THAT(drill.values(), Pointwise(FloatNear(1e-6F), expected)) << decay;
  }
}

TEST(Optimizers, LarsScalesTheRateOfKernels) {
  Drill drill;
  nn::Lars lars(drill.scope.below("lars"), drill.scope.variables(),
                {.rate = nn::constant_rate(2), .weight_decay = 0.01, .trust = 0.02});
  drill.take_three_steps(lars);
  std::vector<double> v(3);
  const std::vector<double> expected = three_steps([&](auto& w, const auto& g, int) {
    const double size = std::hypot(w[0], w[1]);
    const double slope = std::hypot(g[0], g[1]);
    for (std::size_t i = 0; i < 3; ++i) {
      const bool is_kernel = i < 2;
      const double rate = is_kernel ? 2 * 0.02 * size / (slope + 0.01 * size) : 2;
      v[i] = 0.9 * v[i] + rate * (g[i] + (is_kernel ? 0.01 * w[i] : 0));
    }
    for (std::size_t i = 0; i < 3; ++i) w[i] -= v[i];
  });
  EXPECT_THAT(drill.values(), Pointwise(FloatNear(3e-6F), expected));
}

TEST(Optimizers, TheirStateHasNamesAndGoesOn) {
  Drill drill;
  nn::Adam adam(drill.scope.below("adam"), drill.scope.variables());
  std::vector<std::string> names;
  for (const Variable& variable : adam.state()) names.push_back(variable.name());
  EXPECT_THAT(names, ElementsAre("adam/step", "adam/first_moment/dense/kernel",
                                 "adam/first_moment/dense/bias", "adam/second_moment/dense/kernel",
                                 "adam/second_moment/dense/bias"));
  for (int step = 0; step < 2; ++step) adam.apply(drill.gradients(step));
  Drill other;
  nn::Adam continued(other.scope.below("adam"), other.scope.variables());
  for (std::size_t i = 0; i < drill.scope.variables().size(); ++i) {
    other.scope.variables()[i].assign(drill.scope.variables()[i].value());
  }
  EXPECT_EQ(continued.steps(), 2);
  adam.apply(drill.gradients(2));
  continued.apply(other.gradients(2));
  EXPECT_EQ(drill.values(), other.values());
}

/// Their number is a float, which stayed at 2^24, and the schedule with it.
TEST(Optimizers, CountMoreStepsThanAFloat) {
  constexpr std::uint64_t kFloatSteps = std::uint64_t{1} << 24;
  Drill drill;
  nn::Sgd sgd(drill.scope.below("sgd"), drill.scope.variables(),
              {.rate = [](std::uint64_t step) { return static_cast<double>(step); }});
  Variable step = sgd.state().front();
  step.assign(Tensor::copy_of({1}, {16'777'214.0F}));
  for (std::uint64_t steps = kFloatSteps - 1; steps < kFloatSteps + 4; ++steps) {
    sgd.apply(drill.gradients(0));
    EXPECT_EQ(sgd.steps(), steps);
    EXPECT_EQ(sgd.rate(), static_cast<double>(steps));
    EXPECT_TRUE(std::isfinite(step.value().values<float>()[0]));
  }
}

TEST(Optimizers, WhatTheyDoNotTakeIsNamed) {
  Drill drill;
  EXPECT_EQ(error_message([&] { nn::Adam(drill.scope.below("a"), {}, {.beta_1 = 1}); }),
            "Adam with beta_1 1; expected 0 to below 1");
  EXPECT_EQ(error_message([&] { nn::Adam(drill.scope.below("b"), {}, {.epsilon = 0}); }),
            "Adam with epsilon 0; expected one above 0");
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  EXPECT_EQ(error_message([&] { nn::Adam(drill.scope.below("i"), {}, {.epsilon = kInfinity}); }),
            "Adam with epsilon inf; expected one above 0");
  EXPECT_EQ(error_message([&] { nn::Sgd(drill.scope.below("c"), {}, {.weight_decay = -1}); }),
            "SGD with weight decay -1; expected a finite number that isn't negative");
  nn::Sgd sgd(drill.scope.below("sgd"), {drill.bias});
  EXPECT_EQ(error_message([&] { sgd.apply(drill.gradients(0)); }),
            "a gradient [2, 1] of variable dense/kernel [2, 1], for which the optimiser wasn't "
            "made");
  EXPECT_EQ(error_message([&] {
              sgd.apply({{drill.bias, Tensor::copy_of({2}, {1.0F, 2.0F})}});
            }),
            "a gradient [2] of variable dense/bias [1], whose shape is another");
  EXPECT_EQ(error_message([&] { sgd.apply({}, -1); }),
            "an optimiser with the rate -0.01; expected a finite number that isn't negative");
  EXPECT_EQ(sgd.steps(), 0);
}

TEST(Optimizers, ClippingBoundsNormAndItems) {
  const Drill drill;
  Gradients gradients = {{drill.kernel, Tensor::copy_of({2, 1}, {3.0F, 0.0F})},
                         {drill.bias, Tensor::copy_of({1}, {-4.0F})}};
  const Gradients shared = gradients;
  EXPECT_EQ(nn::clip_by_global_norm(gradients, 10), 5);
  EXPECT_EQ(gradients[0].second.values<float>()[0], 3);
  EXPECT_EQ(nn::clip_by_global_norm(gradients, 1), 5);
  EXPECT_THAT(gradients[0].second.values<float>(), ElementsAre(FloatEq(0.6F), 0));
  EXPECT_THAT(gradients[1].second.values<float>(), ElementsAre(FloatEq(-0.8F)));
  EXPECT_EQ(shared[1].second.values<float>()[0], -4);  // variables of others stay
  nn::clip_by_value(gradients, 0.7);
  EXPECT_THAT(gradients[0].second.values<float>(), ElementsAre(FloatEq(0.6F), 0));
  EXPECT_THAT(gradients[1].second.values<float>(), ElementsAre(-0.7F));
  EXPECT_TRUE(nn::all_finite(gradients));
  gradients[1].second = Tensor::copy_of({1}, {std::numeric_limits<float>::quiet_NaN()});
  EXPECT_FALSE(nn::all_finite(gradients));
  EXPECT_TRUE(std::isnan(nn::clip_by_global_norm(gradients, 0.1)));
  EXPECT_THAT(gradients[0].second.values<float>(), ElementsAre(FloatEq(0.6F), 0));
  EXPECT_EQ(error_message([&] { nn::clip_by_value(gradients, 0); }),
            "clipping with the value 0; expected one above 0");
}

TEST(Schedules, FollowTheirFormulas) {
  const nn::Schedule warm = nn::warm_up(4, nn::cosine_decay(2, 10, 0.1));
  EXPECT_THAT((std::vector{warm(0), warm(1), warm(3), warm(4)}), ElementsAre(0.5, 1, 2, 2));
  for (std::uint64_t step = 0; step <= 10; ++step) {
    const double share = 0.5 * (1 + std::cos(M_PI * static_cast<double>(step) / 10));
    EXPECT_THAT(warm(4 + step), DoubleNear(2 * (0.1 + 0.9 * share), 1e-14)) << step;
  }
  EXPECT_EQ(warm(1000), warm(14));
  const nn::Schedule steps = nn::step_decay(1, {10, 20}, 0.5);
  EXPECT_THAT((std::vector{steps(9), steps(10), steps(19), steps(20)}),
              ElementsAre(1, 0.5, 0.5, 0.25));
  const nn::Schedule line = nn::polynomial_decay(1, 0.5, 4);
  EXPECT_THAT((std::vector{line(0), line(1), line(4), line(9)}), ElementsAre(1, 0.875, 0.5, 0.5));
  const nn::Schedule curve = nn::polynomial_decay(3, 1, 8, 2.5);
  for (std::uint64_t step = 0; step <= 8; ++step) {
    EXPECT_THAT(curve(step),
                DoubleNear(2 * std::pow(1 - static_cast<double>(step) / 8, 2.5) + 1, 1e-14));
  }
  EXPECT_EQ(nn::constant_rate(0.3)(77), 0.3);
}

TEST(Schedules, ScaleTheRateWithTheBatchAndWarmUp) {
  nn::ScaledRate options{.base_rate = 0.1, .global_batch = 4096, .warm_up_steps = 500};
  EXPECT_EQ(nn::scaled_rate(options), 1.6);
  const nn::Schedule linear = nn::scaled_with_batch(options);
  EXPECT_EQ(linear(0), 0.1);  // the smaller batch's rate
  EXPECT_THAT(linear(250), DoubleNear(0.85, 1e-15));
  EXPECT_THAT(linear(499), DoubleNear(1.597, 1e-15));
  EXPECT_EQ(linear(500), 1.6);
  EXPECT_EQ(linear(100'000), 1.6);
  const auto decay = [](double peak) { return nn::cosine_decay(peak, 1000); };
  const nn::Schedule curve = nn::scaled_with_batch(options, decay);
  EXPECT_EQ(curve(250), linear(250));
  for (const std::uint64_t step : {500, 800, 1500, 9000}) {
    EXPECT_EQ(curve(step), decay(1.6)(step - 500)) << step;
  }
  options.rule = nn::BatchRule::root;
  EXPECT_EQ(nn::scaled_rate(options), 0.4);
  EXPECT_THAT(nn::scaled_with_batch(options)(250), DoubleNear(0.25, 1e-15));
  options.warm_up_steps = 0;
  EXPECT_EQ(nn::scaled_with_batch(options)(0), 0.4);
  // A rate that falls must not begin above its peak.
  options = {.base_rate = 0.1, .global_batch = 64, .warm_up_steps = 10};
  EXPECT_EQ(nn::scaled_with_batch(options)(0), 0.025);
  EXPECT_EQ(nn::scaled_with_batch(options)(10), 0.025);
}

TEST(Schedules, EachOptimiserHasItsRuleOfTheBatch) {
  for (const StepOptimizer optimizer : {StepOptimizer::adam, StepOptimizer::adamw}) {
    EXPECT_EQ(nn::batch_rule(optimizer), nn::BatchRule::root) << to_string(optimizer);
  }
  for (const StepOptimizer optimizer :
       {StepOptimizer::sgd, StepOptimizer::momentum, StepOptimizer::lars}) {
    EXPECT_EQ(nn::batch_rule(optimizer), nn::BatchRule::linear) << to_string(optimizer);
  }
}

TEST(Schedules, WhatTheyDoNotTakeIsNamed) {
  EXPECT_EQ(error_message([] { nn::constant_rate(-1); }),
            "a learning rate of -1; expected a finite number that isn't negative");
  EXPECT_EQ(error_message([] { nn::warm_up(0, nn::constant_rate(1)); }),
            "warming up over 0 steps; it takes 1 or more");
  EXPECT_EQ(error_message([] {
              nn::step_decay(1, {20, 10});
            }),
            "step decay at the steps 20, 10; expected them in ascending order");
  EXPECT_EQ(error_message([] { nn::polynomial_decay(1, 0, 5, 0); }),
            "polynomial decay with power 0; expected one above 0");
  EXPECT_EQ(error_message([] { nn::scaled_rate({.base_rate = 0.1}); }),
            "a learning rate for a global_batch of 0, scaled from a base_batch of 256; batches "
            "have 1 example or more");
  EXPECT_EQ(error_message([] { nn::scaled_with_batch({.base_rate = -1, .global_batch = 512}); }),
            "a base rate of -1; expected a finite number that isn't negative");
  EXPECT_EQ(error_message([] { nn::scaled_rate({.base_batch = 0, .global_batch = 512}); }),
            "a learning rate for a global_batch of 512, scaled from a base_batch of 0; batches "
            "have 1 example or more");
  nn::ScaledRate huge{.base_rate = 1e308, .global_batch = 4096};
  EXPECT_EQ(error_message([&] { nn::scaled_rate(huge); }),
            "a base rate of 1e+308, scaled from a base_batch of 256 to a global_batch of 4096, is "
            "beyond what a double has; take a smaller one");
  huge.rule = nn::BatchRule::root;
  EXPECT_EQ(error_message([&] { nn::scaled_with_batch(huge); }),
            error_message([&] { nn::scaled_rate(huge); }));
  EXPECT_EQ(error_message([] { nn::warm_up(5, {}); }),
            "what follows warming up is empty; give a schedule, as constant_rate()");
  EXPECT_EQ(error_message([] { nn::scaled_with_batch({.global_batch = 512}, {}); }),
            "`after` is empty; give a schedule, as constant_rate()");
  EXPECT_EQ(error_message([] {
              nn::scaled_with_batch({.global_batch = 512}, [](double) { return nn::Schedule(); });
            }),
            "what `after` gives is empty; give a schedule, as constant_rate()");
}

TEST(LossScaling, DoublesHalvesAndIsState) {
  Scope scope;
  nn::LossScale loss_scale(scope.below("loss_scale"), {.first = 4, .steps_to_double = 3});
  const auto run = [&](bool finite) {
    EXPECT_EQ(loss_scale.update(finite), finite);
    return loss_scale.scale();
  };
  EXPECT_EQ(run(true), 4);
  EXPECT_EQ(run(true), 4);
  EXPECT_EQ(run(true), 8);  // after three finite steps
  EXPECT_EQ(run(true), 8);  // which count anew
  EXPECT_EQ(run(false), 4);
  EXPECT_EQ(run(true), 4);  // and again after a skipped one
  EXPECT_EQ(run(true), 4);
  EXPECT_EQ(run(true), 8);
  for (int i = 0; i < 5; ++i) run(false);
  EXPECT_EQ(loss_scale.scale(), 1);
  EXPECT_EQ(scope.variables()[0].name(), "loss_scale/scale");
  EXPECT_EQ(scope.variables()[1].name(), "loss_scale/finite_steps");
  EXPECT_EQ(nn::LossScale(scope.below("other")).scale(), 32768);
  EXPECT_EQ(error_message([&] { nn::LossScale(scope.below("bad"), {.first = 0}); }),
            "loss scaling with the first 0; expected 1 or more");
}

/// Fits y = 3 x with two layers, from a loss so small that its gradients vanish in float16.
float distance_after_training(Precision precision, bool scaled) {
  Scope scope;
  Variable inner = scope.variable("inner", {1, 1}, Initializer::ones);
  Variable outer = scope.variable("outer", {1, 1}, Initializer::ones);
  nn::Sgd sgd(scope.below("sgd"), scope.variables(), {.rate = nn::constant_rate(1e7)});
  nn::LossScale loss_scale(scope.below("loss_scale"));
  for (int step = 0; step < 60; ++step) {
    Tape tape({.training = true, .precision = precision});
    const TapeValue x = tape.constant(Tensor::copy_of({1, 1}, {1.0F}));
    const TapeValue y =
        nn::matrix_product(tape, nn::matrix_product(tape, x, tape.read(inner)), tape.read(outer));
    const TapeValue loss = nn::scale(
        tape,
        nn::sum(tape,
                nn::mean_squared_error(tape, y, tape.constant(Tensor::copy_of({1, 1}, {3.0F})))),
        1e-9F);
    Gradients gradients = tape.gradients(loss, scaled ? loss_scale.scale() : 1.0F);
    if (scaled) loss_scale.unscale(gradients);
    if (!scaled || loss_scale.update(nn::all_finite(gradients))) sgd.apply(gradients);
  }
  return std::abs(inner.value().values<float>()[0] * outer.value().values<float>()[0] - 3);
}

TEST(SameBits, Float16LearnsNothingWithoutALossScaleAndAsFloat32WithIt) {
  EXPECT_LT(distance_after_training(Precision::float32, false), 0.01F);
  EXPECT_LT(distance_after_training(Precision::mixed_bfloat16, false), 0.02F);
  EXPECT_EQ(distance_after_training(Precision::mixed_float16, false), 2);  // as it began
  EXPECT_LT(distance_after_training(Precision::mixed_float16, true), 0.01F);
}

TEST(Precision, VariablesStayFloat32AndProductsAreRounded) {
  Scope scope;
  Variable weight = scope.variable("weight", {1, 1}, Initializer::ones);
  nn::Sgd sgd(scope.below("sgd"), scope.variables(), {.rate = nn::constant_rate(0x1p-10)});
  for (int step = 0; step < 8; ++step) {
    Tape tape({.training = true, .precision = Precision::mixed_bfloat16});
    const TapeValue x = tape.constant(Tensor::copy_of({1, 1}, {-1.0F}));
    const TapeValue y = nn::matrix_product(tape, x, tape.read(weight));
    // The next bfloat16 above 1 is 2^-7 larger: the product sees the steps when they have added up
    // to half of it.
    EXPECT_EQ(y.item(), step <= 4 ? -1 : -1.0078125F) << step;
    const Gradients gradients = tape.gradients(nn::sum(tape, y));
    sgd.apply(gradients);
  }
  EXPECT_EQ(weight.value().values<float>()[0], 1.0078125F);  // none of the eight was lost
}

TEST(LossScaling, AnOverflowSkipsTheStep) {
  Scope scope;
  Variable weight = scope.variable("weight", {1, 1}, Initializer::ones);
  nn::LossScale loss_scale(scope.below("loss_scale"));
  Tape tape({.training = true, .precision = Precision::mixed_float16});
  const TapeValue x = tape.constant(Tensor::copy_of({1, 1}, {1.0F}));
  const TapeValue y = nn::matrix_product(tape, x, tape.read(weight));
  // 4 * 32768 is beyond float16.
  Gradients gradients = tape.gradients(nn::sum(tape, nn::scale(tape, y, 4)), loss_scale.scale());
  loss_scale.unscale(gradients);
  EXPECT_FALSE(loss_scale.update(nn::all_finite(gradients)));
  EXPECT_EQ(loss_scale.scale(), 16384);
}

}  // namespace
}  // namespace infeed
