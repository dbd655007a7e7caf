#include "infeed/device/layers.h"

#include <cmath>
#include <optional>
#include <string_view>

#include <infeed/device/depthwise.h>

#include "refuse.h"

namespace infeed::nn {
namespace {

std::int64_t at_least_one(std::int64_t size, std::string_view what) {
  if (size >= 1) return size;
  detail::refuse("a layer with {} {}; it takes 1 or more", size, what);
}

void require_epsilon(float epsilon) {
  if (epsilon >= 0 && std::isfinite(epsilon)) return;
  detail::refuse("a norm with epsilon {}; it takes 0 or more", epsilon);
}

TapeValue activated(Tape& tape, const TapeValue& x, Activation activation) {
  switch (activation) {
    case Activation::none:
      return x;
    case Activation::relu:
      return relu(tape, x);
    case Activation::gelu:
      return gelu(tape, x);
    case Activation::tanh:
      return tanh(tape, x);
    case Activation::sigmoid:
      return sigmoid(tape, x);
  }
  return x;
}

void require_examples(const TapeValue& x, std::string_view layer) {
  if (x.shape().rank() > 0) return;
  detail::refuse("{} of one number; expected an axis of examples", layer);
}

std::optional<Variable> optional_bias(Scope& scope, bool wanted, std::int64_t channels) {
  if (!wanted) return std::nullopt;
  return scope.variable("bias", {channels}, Initializer::zeros);
}

/// Draws each kernel as that of one channel, so that other channels don't count as inputs.
Tensor depthwise_kernel(Scope& scope, std::int64_t channels, const DepthwiseOptions& options) {
  const std::int64_t window = at_least_one(options.window, "pixels along its window's side");
  const std::int64_t out = at_least_one(channels, "channels") *
                           at_least_one(options.multiplier, "channels for each one");
  return scope.draw({window, window, 1, out}, options.initializer)
      .reshaped({window, window, channels, options.multiplier});
}

}  // namespace

TapeValue Sequential::apply(Tape& tape, const TapeValue& x) const {
  TapeValue y = x;
  for (const auto& layer : layers_) y = layer->apply(tape, y);
  return y;
}

Activate::Activate(Activation activation)
    : FunctionLayer([activation](Tape& tape, const TapeValue& x) {
        return activated(tape, x, activation);
      }) {}

Dense::Dense(Scope scope, std::int64_t in, std::int64_t out, DenseOptions options) {
  const Variable kernel = scope.variable(
      "kernel", {at_least_one(in, "inputs"), at_least_one(out, "outputs")}, options.initializer);
  const Variable bias = scope.variable("bias", {out}, Initializer::zeros);
  function_ = [=](Tape& tape, const TapeValue& x) {
    return activated(tape, dense(tape, x, tape.read(kernel), tape.read(bias)), options.activation);
  };
}

Convolution::Convolution(Scope scope, std::int64_t in, std::int64_t out,
                         ConvolutionLayerOptions options) {
  const std::int64_t window = at_least_one(options.window, "pixels along its window's side");
  const Variable kernel = scope.variable(
      "kernel", {window, window, at_least_one(in, "inputs"), at_least_one(out, "outputs")},
      options.initializer);
  const std::optional<Variable> bias = optional_bias(scope, options.bias, out);
  function_ = [=](Tape& tape, const TapeValue& x) {
    const ConvolutionOptions windows{.stride = options.stride, .padding = options.padding};
    const TapeValue w = tape.read(kernel);
    return activated(tape,
                     bias ? convolution(tape, x, w, tape.read(*bias), windows)
                          : convolution(tape, x, w, windows),
                     options.activation);
  };
}

DepthwiseConvolution::DepthwiseConvolution(Scope scope, std::int64_t channels,
                                           DepthwiseOptions options) {
  const Variable kernel = scope.variable("kernel", depthwise_kernel(scope, channels, options));
  const std::optional<Variable> bias =
      optional_bias(scope, options.bias, channels * options.multiplier);
  function_ = [=](Tape& tape, const TapeValue& x) {
    TapeValue y = depthwise_convolution(tape, x, tape.read(kernel),
                                        {.stride = options.stride, .padding = options.padding});
    if (bias) y = add_table(tape, y, tape.read(*bias));
    return activated(tape, y, options.activation);
  };
}

SeparableConvolution::SeparableConvolution(const Scope& scope, std::int64_t in, std::int64_t out,
                                           DepthwiseOptions options) {
  DepthwiseOptions alone = options;
  alone.activation = Activation::none;
  alone.bias = false;
  const DepthwiseConvolution depthwise(scope.below("depthwise"), in, alone);
  const Convolution pointwise(scope.below("pointwise"), in * options.multiplier, out,
                              {.window = 1,
                               .activation = options.activation,
                               .bias = options.bias,
                               .initializer = options.initializer});
  function_ = [=](Tape& tape, const TapeValue& x) {
    return pointwise.apply(tape, depthwise.apply(tape, x));
  };
}

MaxPool::MaxPool(std::int64_t size)
    : FunctionLayer([size](Tape& tape, const TapeValue& x) { return max_pool(tape, x, size); }) {}

AveragePool::AveragePool(std::int64_t size)
    : FunctionLayer(
          [size](Tape& tape, const TapeValue& x) { return average_pool(tape, x, size); }) {}

Flatten::Flatten()
    : FunctionLayer([](Tape& tape, const TapeValue& x) {
        require_examples(x, "Flatten");
        return reshape(tape, x, {x.shape()[0], x.shape().without_first().items()});
      }) {}

Reshape::Reshape(Shape of_an_example)
    : FunctionLayer([shape = std::move(of_an_example)](Tape& tape, const TapeValue& x) {
        require_examples(x, "Reshape");
        return reshape(tape, x, Shape(x.shape()[0], shape));
      }) {}

Dropout::Dropout(double rate)
    : FunctionLayer([rate](Tape& tape, const TapeValue& x) { return dropout(tape, x, rate); }) {}

Embedding::Embedding(Scope scope, std::int64_t rows, std::int64_t features) {
  const Variable table =
      scope.variable("table", {at_least_one(rows, "rows"), at_least_one(features, "features")},
                     Initializer::small_normal);
  function_ = [=](Tape& tape, const TapeValue& ids) {
    return embedding(tape, tape.read(table), ids);
  };
}

PositionEmbedding::PositionEmbedding(Scope scope, const Shape& of_an_example)
    : FunctionLayer(
          [table = scope.variable("table", of_an_example, Initializer::small_normal)](
              Tape& tape, const TapeValue& x) { return add_table(tape, x, tape.read(table)); }) {}

LayerNorm::LayerNorm(Scope scope, std::int64_t features, float epsilon) {
  require_epsilon(epsilon);
  const Variable gain =
      scope.variable("gain", {at_least_one(features, "features")}, Initializer::ones);
  const Variable offset = scope.variable("offset", {features}, Initializer::zeros);
  function_ = [=](Tape& tape, const TapeValue& x) {
    return layer_norm(tape, x, tape.read(gain), tape.read(offset), epsilon);
  };
}

BatchNorm::BatchNorm(Scope scope, std::int64_t features, BatchNormOptions options) {
  require_epsilon(options.epsilon);
  if (!(options.momentum >= 0 && options.momentum <= 1)) {
    detail::refuse("a batch norm with momentum {}; it takes 0 to 1", options.momentum);
  }
  const Variable gain =
      scope.variable("gain", {at_least_one(features, "features")}, Initializer::ones);
  const Variable offset = scope.variable("offset", {features}, Initializer::zeros);
  const BatchStatistics statistics{
      .mean = scope.variable("mean", {features}, Initializer::zeros, false),
      .variance = scope.variable("variance", {features}, Initializer::ones, false),
      .momentum = options.momentum,
      .epsilon = options.epsilon,
      .synchronised = options.synchronised};
  function_ = [=](Tape& tape, const TapeValue& x) {
    return batch_norm(tape, x, tape.read(gain), tape.read(offset), statistics);
  };
}

SelfAttention::SelfAttention(const Scope& scope, std::int64_t features, std::int64_t heads) {
  if (features % at_least_one(heads, "heads") != 0) {
    detail::refuse("self-attention of {} features in {} heads; the heads must divide them",
                   features, heads);
  }
  const Dense query(scope.below("query"), features, features);
  const Dense key(scope.below("key"), features, features);
  const Dense value(scope.below("value"), features, features);
  const Dense output(scope.below("output"), features, features);
  function_ = [=](Tape& tape, const TapeValue& x) {
    return output.apply(tape, attention(tape, query.apply(tape, x), key.apply(tape, x),
                                        value.apply(tape, x), heads));
  };
}

}  // namespace infeed::nn
