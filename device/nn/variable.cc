#include "infeed/device/variable.h"

#include <algorithm>
#include <cmath>

#include <infeed/pipeline/philox.h>

#include "refuse.h"
#include "variable_state.h"

namespace infeed {
namespace {

constexpr double kSmallDeviation = 0.02;

struct Fans {
  double in = 1;
  double out = 1;
};

Fans fans_of(const Shape& shape) {
  if (shape.rank() < 2) return {static_cast<double>(shape.items()), 1};
  double window = 1;
  for (std::size_t i = 0; i + 2 < shape.rank(); ++i) window *= static_cast<double>(shape[i]);
  return {window * static_cast<double>(shape[shape.rank() - 2]),
          window * static_cast<double>(shape[shape.rank() - 1])};
}

float uniform_of(Philox& random) { return static_cast<float>(random() >> 8) * 0x1p-24F; }

/// Draws a nearly normal number, the sum of twelve uniform ones: the same bits on every machine,
/// which no library's logarithm guarantees.
float normal_of(Philox& random) {
  float sum = -6;
  for (int i = 0; i < 12; ++i) sum += uniform_of(random);
  return sum;
}

Tensor initial_value(const Shape& shape, Initializer initializer, std::uint64_t seed,
                     std::uint64_t number) {
  Tensor tensor(DType::float32, shape);
  const std::span<float> values = tensor.writable<float>();
  const Fans fans = fans_of(shape);
  Philox random(seed, number);
  switch (initializer) {
    case Initializer::zeros:
      std::fill(values.begin(), values.end(), 0.0F);
      break;
    case Initializer::ones:
      std::fill(values.begin(), values.end(), 1.0F);
      break;
    case Initializer::glorot_uniform: {
      const auto limit = static_cast<float>(std::sqrt(6.0 / (fans.in + fans.out)));
      for (float& value : values) value = (2 * uniform_of(random) - 1) * limit;
      break;
    }
    case Initializer::he_normal:
    case Initializer::small_normal: {
      const auto deviation = static_cast<float>(
          initializer == Initializer::he_normal ? std::sqrt(2.0 / fans.in) : kSmallDeviation);
      for (float& value : values) value = normal_of(random) * deviation;
      break;
    }
  }
  return tensor;
}

}  // namespace

const std::string& Variable::name() const { return state_->name; }
const Shape& Variable::shape() const { return state_->shape; }
bool Variable::trainable() const { return state_->trainable; }
Tensor Variable::value() const { return state_->copies[0]; }

void Variable::assign(const Tensor& value) {
  if (value.dtype() != DType::float32 || !(value.shape() == shape())) {
    detail::refuse("variable {} is float32 {}; it can't be set to {} {}", name(),
                   shape().to_string(), to_string(value.dtype()), value.shape().to_string());
  }
  for (std::size_t copy = 0; copy < state_->copies.size(); ++copy) {
    state_->copies[copy] = Tensor::copy_of(shape(), value.values<float>());
  }
}

Scope::Scope(ScopeOptions options) : state_(std::make_shared<detail::ScopeState>()) {
  state_->seed = options.seed;
}

Tensor Scope::draw(const Shape& shape, Initializer initializer) {
  return initial_value(shape, initializer, state_->seed, state_->draws++);
}

Variable Scope::variable(std::string_view name, const Shape& shape, Initializer initializer,
                         bool trainable) {
  return variable(name, draw(shape, initializer), trainable);
}

Variable Scope::variable(std::string_view name, const Tensor& value, bool trainable) {
  const std::string full = prefix_ + std::string(name);
  for (const Variable& other : state_->variables) {
    if (other.name() == full) {
      detail::refuse("the scope has a variable {} already; give the layer another name", full);
    }
  }
  if (value.dtype() != DType::float32) {
    detail::refuse("variable {} can't begin with {}; variables are float32", full,
                   to_string(value.dtype()));
  }
  auto state = std::make_shared<detail::VariableState>();
  state->name = full;
  state->shape = value.shape();
  state->trainable = trainable;
  state->strategy = state_->strategy;
  for (std::size_t i = 0; i < state_->copies; ++i) {
    state->copies.push_back(Tensor::copy_of(value.shape(), value.values<float>()));
  }
  state_->variables.push_back(Variable(std::move(state)));
  return state_->variables.back();
}

Scope Scope::below(std::string_view name) const {
  Scope inner = *this;
  inner.prefix_ += std::string(name) + "/";
  return inner;
}

std::vector<Variable> Scope::variables() const { return state_->variables; }

}  // namespace infeed
