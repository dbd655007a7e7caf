#include "infeed/device/optimizer.h"

#include <cmath>
#include <fmt/format.h>
#include <utility>

#include <infeed/error.h>

namespace infeed {
namespace {

/// No training takes longer; a saved number beyond it is damage.
constexpr std::int64_t kStepsMax = 1'000'000'000;

}  // namespace

Adam::Adam(std::int64_t parameters, AdamOptions options)
    : options_(options),
      m_(static_cast<std::size_t>(parameters)),
      v_(static_cast<std::size_t>(parameters)) {
  const auto in_unit = [](double beta) { return beta >= 0 && beta < 1; };
  if (!(options.learning_rate > 0) || !std::isfinite(options.learning_rate) ||
      !in_unit(options.beta_1) || !in_unit(options.beta_2) || !(options.epsilon > 0)) {
    throw Error(
        ErrorCode::invalid_argument,
        fmt::format("Adam with learning rate {}, beta_1 {}, beta_2 {}, epsilon {}: rate and "
                    "epsilon must be above 0, betas from 0 to below 1",
                    options.learning_rate, options.beta_1, options.beta_2, options.epsilon));
  }
}

void Adam::begin_step() {
  ++steps_;
  // Powers by repeated multiplication: pow() has variants that round differently.
  beta_1_power_ *= options_.beta_1;
  beta_2_power_ *= options_.beta_2;
  alpha_ = static_cast<float>(options_.learning_rate * std::sqrt(1 - beta_2_power_) /
                              (1 - beta_1_power_));
}

void Adam::update(std::span<float> parameters, std::span<const float> gradients, std::int64_t begin,
                  std::int64_t end) {
  const float rest_1 = static_cast<float>(1 - options_.beta_1);
  const float rest_2 = static_cast<float>(1 - options_.beta_2);
  const float epsilon = static_cast<float>(options_.epsilon);
  float* __restrict p = parameters.data();
  const float* __restrict g = gradients.data();
  float* __restrict m = m_.data();
  float* __restrict v = v_.data();
  for (std::int64_t i = begin; i < end; ++i) {
    m[i] += (g[i] - m[i]) * rest_1;
    v[i] += (g[i] * g[i] - v[i]) * rest_2;
    p[i] -= m[i] * alpha_ / (std::sqrt(v[i]) + epsilon);
  }
}

void Adam::restore(std::int64_t steps, std::vector<float> first_moments,
                   std::vector<float> second_moments) {
  if (first_moments.size() != m_.size() || second_moments.size() != v_.size() || steps < 0 ||
      steps > kStepsMax) {
    throw Error(
        ErrorCode::failed_precondition,
        fmt::format("optimizer state of {} and {} elements after {} steps; the model has {}",
                    first_moments.size(), second_moments.size(), steps, m_.size()));
  }
  m_ = std::move(first_moments);
  v_ = std::move(second_moments);
  steps_ = 0;
  beta_1_power_ = beta_2_power_ = 1;
  // The powers reach 0 after some 750,000 steps and stay there.
  while (steps_ < steps && (beta_1_power_ > 0 || beta_2_power_ > 0)) begin_step();
  steps_ = steps;
}

}  // namespace infeed
