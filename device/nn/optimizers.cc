#include "infeed/device/optimizers.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <iterator>
#include <utility>

#include "operation_parts.h"
#include "refuse.h"
#include "variable_state.h"

namespace infeed::nn {
namespace {

constexpr std::size_t kKernelRankMin = 2;

void require_option(bool fits, std::string_view optimizer, std::string_view what, double found,
                    std::string_view expected) {
  if (fits) return;
  detail::refuse("{} with {} {}; expected {}", optimizer, what, found, expected);
}

void require_share(double value, std::string_view optimizer, std::string_view what) {
  require_option(value >= 0 && value < 1, optimizer, what, value, "0 to below 1");
}

void require_not_negative(double value, std::string_view optimizer, std::string_view what) {
  require_option(value >= 0 && std::isfinite(value), optimizer, what, value,
                 "a finite number that isn't negative");
}

/// Multiplies, since pow() has variants that round differently.
double whole_power(double base, std::uint64_t exponent) {
  double power = 1;
  for (; exponent != 0; exponent >>= 1, base *= base) {
    if ((exponent & 1) != 0) power *= base;
  }
  return power;
}

double sum_of_squares(std::span<const float> values) {
  return sum_of_items<double>(std::ssize(values), [values](std::int64_t i) {
    const double value = values[static_cast<std::size_t>(i)];
    return value * value;
  });
}

float scalar_of(const Variable& variable) { return variable.value().values<float>()[0]; }

void set_scalar(Variable variable, float value) { variable.assign(Tensor::copy_of({1}, {value})); }

/// The most steps that a float holds one by one. Later ones are in the bits of negative floats, so
/// that the variable, and checkpoints of earlier versions, stay as they are.
constexpr std::uint64_t kFloatSteps = std::uint64_t{1} << 24;
constexpr std::uint32_t kSignBit = std::uint32_t{1} << 31;
constexpr std::uint64_t kFiniteBitsMax = 0x7F7F'FFFF;

float float_of_steps(std::uint64_t steps) {
  if (steps <= kFloatSteps) return static_cast<float>(steps);
  const auto later = static_cast<std::uint32_t>(std::min(steps - kFloatSteps, kFiniteBitsMax));
  return std::bit_cast<float>(kSignBit | later);
}

std::uint64_t steps_of_float(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  return (bits & kSignBit) == 0 ? static_cast<std::uint64_t>(value)
                                : kFloatSteps + (bits & ~kSignBit);
}

}  // namespace

Optimizer::Optimizer(Scope scope, const std::vector<Variable>& variables, Schedule rate,
                     const std::vector<std::string_view>& slots)
    : rate_(std::move(rate)), step_(scope.variable("step", {1}, Initializer::zeros, false)) {
  for (const Variable& variable : variables) {
    if (variable.trainable()) slots_.push_back({.variable = variable, .slots = {}});
  }
  for (const std::string_view slot : slots) {
    for (Slots& of : slots_) {
      of.slots.push_back(scope.below(slot).variable(of.variable.name(), of.variable.shape(),
                                                    Initializer::zeros, false));
    }
  }
}

std::uint64_t Optimizer::steps() const { return steps_of_float(scalar_of(step_)); }

BatchRule batch_rule(StepOptimizer optimizer) {
  const bool is_adam = optimizer == StepOptimizer::adam || optimizer == StepOptimizer::adamw;
  return is_adam ? BatchRule::root : BatchRule::linear;
}

StepOptimizer Optimizer::step_optimizer() const {
  const std::size_t slots = slots_.empty() ? 0 : slots_[0].slots.size();
  return slots == 0   ? StepOptimizer::sgd
         : slots == 1 ? StepOptimizer::momentum
                      : StepOptimizer::adam;
}

std::vector<Variable> Optimizer::state() const {
  std::vector<Variable> all = {step_};
  const std::size_t slots = slots_.empty() ? 0 : slots_[0].slots.size();
  for (std::size_t slot = 0; slot < slots; ++slot) {
    for (const Slots& of : slots_) all.push_back(of.slots[slot]);
  }
  return all;
}

void Optimizer::apply(const Gradients& gradients, double rate_factor) {
  const std::uint64_t done = steps();
  Step step{.rate = rate_(done) * rate_factor, .number = done + 1};
  require_not_negative(step.rate, "an optimiser", "the rate");
  for (const auto& [variable, gradient] : gradients) {
    const auto found = std::ranges::find(slots_, variable, &Slots::variable);
    if (found == slots_.end() || !(gradient.shape() == variable.shape())) {
      detail::refuse(
          "a gradient {} of variable {} {}, {}", gradient.shape().to_string(), variable.name(),
          variable.shape().to_string(),
          found == slots_.end() ? "for which the optimiser wasn't made" : "whose shape is another");
    }
  }
  for (const auto& [variable, gradient] : gradients) {
    const auto found = std::ranges::find(slots_, variable, &Slots::variable);
    step.decays = variable.shape().rank() >= kKernelRankMin;
    for (std::size_t copy = 0; copy < variable.state().copies.size(); ++copy) {
      std::vector<std::span<float>> slots;
      for (const Variable& slot : found->slots) slots.push_back(slot.state().writable(copy));
      update(step, variable.state().writable(copy), gradient.values<float>(), slots);
    }
  }
  set_scalar(step_, float_of_steps(step.number));
}

Sgd::Sgd(Scope scope, const std::vector<Variable>& variables, SgdOptions options)
    : Optimizer(std::move(scope), variables, options.rate,
                options.momentum == 0 ? std::vector<std::string_view>{}
                                      : std::vector<std::string_view>{"momentum"}),
      options_(std::move(options)) {
  require_share(options_.momentum, "SGD", "momentum");
  require_not_negative(options_.weight_decay, "SGD", "weight decay");
}

void Sgd::update(const Step& step, std::span<float> values, std::span<const float> gradient,
                 std::span<const std::span<float>> slots) {
  const auto rate = static_cast<float>(step.rate);
  const auto momentum = static_cast<float>(options_.momentum);
  const auto decay = static_cast<float>(step.decays ? options_.weight_decay : 0);
  float* __restrict w = values.data();
  const float* __restrict g = gradient.data();
  if (slots.empty()) {
    for (std::size_t i = 0; i < values.size(); ++i) w[i] -= rate * (g[i] + decay * w[i]);
    return;
  }
  float* __restrict v = slots[0].data();
  const float again = options_.nesterov ? momentum : 1.0F;
  const float direct = options_.nesterov ? rate : 0.0F;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const float slope = g[i] + decay * w[i];
    v[i] = momentum * v[i] - rate * slope;
    w[i] += again * v[i] - direct * slope;
  }
}

Adam::Adam(Scope scope, const std::vector<Variable>& variables, AdamOptions options)
    : Optimizer(std::move(scope), variables, options.rate, {"first_moment", "second_moment"}),
      options_(std::move(options)) {
  require_share(options_.beta_1, "Adam", "beta_1");
  require_share(options_.beta_2, "Adam", "beta_2");
  require_option(options_.epsilon > 0 && std::isfinite(options_.epsilon), "Adam", "epsilon",
                 options_.epsilon, "one above 0");
  require_not_negative(options_.weight_decay, "Adam", "weight decay");
}

void Adam::update(const Step& step, std::span<float> values, std::span<const float> gradient,
                  std::span<const std::span<float>> slots) {
  const auto rest_1 = static_cast<float>(1 - options_.beta_1);
  const auto rest_2 = static_cast<float>(1 - options_.beta_2);
  const auto epsilon = static_cast<float>(options_.epsilon);
  const auto alpha =
      static_cast<float>(step.rate * std::sqrt(1 - whole_power(options_.beta_2, step.number)) /
                         (1 - whole_power(options_.beta_1, step.number)));
  const auto kept = static_cast<float>(1 - (step.decays ? step.rate * options_.weight_decay : 0.0));
  float* __restrict w = values.data();
  const float* __restrict g = gradient.data();
  float* __restrict m = slots[0].data();
  float* __restrict v = slots[1].data();
  for (std::size_t i = 0; i < values.size(); ++i) {
    m[i] += (g[i] - m[i]) * rest_1;
    v[i] += (g[i] * g[i] - v[i]) * rest_2;
    w[i] = w[i] * kept - m[i] * alpha / (std::sqrt(v[i]) + epsilon);
  }
}

Lars::Lars(Scope scope, const std::vector<Variable>& variables, LarsOptions options)
    : Optimizer(std::move(scope), variables, options.rate, {"momentum"}),
      options_(std::move(options)) {
  require_share(options_.momentum, "LARS", "momentum");
  require_not_negative(options_.weight_decay, "LARS", "weight decay");
  require_not_negative(options_.trust, "LARS", "trust");
}

void Lars::update(const Step& step, std::span<float> values, std::span<const float> gradient,
                  std::span<const std::span<float>> slots) {
  double rate = step.rate;
  if (step.decays) {
    const double size = std::sqrt(sum_of_squares(values));
    const double slope = std::sqrt(sum_of_squares(gradient));
    if (size > 0 && slope > 0) {
      rate *= options_.trust * size / (slope + options_.weight_decay * size);
    }
  }
  const auto local_rate = static_cast<float>(rate);
  const auto momentum = static_cast<float>(options_.momentum);
  const auto decay = static_cast<float>(step.decays ? options_.weight_decay : 0);
  float* __restrict w = values.data();
  const float* __restrict g = gradient.data();
  float* __restrict v = slots[0].data();
  for (std::size_t i = 0; i < values.size(); ++i) {
    v[i] = momentum * v[i] + local_rate * (g[i] + decay * w[i]);
    w[i] -= v[i];
  }
}

bool all_finite(const Gradients& gradients) {
  for (const auto& [variable, gradient] : gradients) {
    bool finite = true;
    for (const float value : gradient.values<float>()) finite &= std::isfinite(value);
    if (!finite) return false;
  }
  return true;
}

double clip_by_global_norm(Gradients& gradients, double limit) {
  require_option(limit > 0, "clipping", "the norm", limit, "one above 0");
  double squares = 0;
  for (const auto& [variable, gradient] : gradients) {
    squares += sum_of_squares(gradient.values<float>());
  }
  const double norm = std::sqrt(squares);
  if (!(norm > limit) || !std::isfinite(norm)) return norm;
  const auto factor = static_cast<float>(limit / norm);
  for (auto& [variable, gradient] : gradients) {
    for (float& value : detail::writable_values(gradient)) value *= factor;
  }
  return norm;
}

void clip_by_value(Gradients& gradients, double limit) {
  require_option(limit > 0, "clipping", "the value", limit, "one above 0");
  const auto highest = static_cast<float>(limit);
  for (auto& [variable, gradient] : gradients) {
    for (float& value : detail::writable_values(gradient)) {
      value = value > highest ? highest : (value < -highest ? -highest : value);
    }
  }
}

LossScale::LossScale(Scope scope, LossScaleOptions options)
    : options_(options),
      scale_(scope.variable("scale", {1}, Initializer::ones, false)),
      finite_steps_(scope.variable("finite_steps", {1}, Initializer::zeros, false)) {
  require_option(options.first >= 1 && std::isfinite(options.first), "loss scaling", "the first",
                 options.first, "1 or more");
  set_scalar(scale_, static_cast<float>(options.first));
}

float LossScale::scale() const { return scalar_of(scale_); }

void LossScale::unscale(Gradients& gradients) const {
  const float divisor = scale();
  for (auto& [variable, gradient] : gradients) {
    for (float& value : detail::writable_values(gradient)) value /= divisor;
  }
}

bool LossScale::update(bool finite) {
  constexpr float kScaleMax = 0x1p120F;  // far from infinity, though nothing ever overflows
  if (!finite) {
    set_scalar(scale_, std::max(scale() / 2, 1.0F));
    set_scalar(finite_steps_, 0);
    return false;
  }
  const float steps = scalar_of(finite_steps_) + 1;
  const bool doubles = steps >= static_cast<float>(options_.steps_to_double);
  if (doubles) set_scalar(scale_, std::min(scale() * 2, kScaleMax));
  set_scalar(finite_steps_, doubles ? 0 : steps);
  return true;
}

}  // namespace infeed::nn
