#include "infeed/device/layers.h"

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

/// Drawn as the kernel of one channel, so that the others don't count as its inputs.
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

TapeValue Residual::apply(Tape& tape, const TapeValue& x) const {
  const TapeValue around = shortcut_ ? shortcut_->apply(tape, x) : x;
  return nn::add(tape, around, inner_->apply(tape, x));
}

TapeValue Activate::apply(Tape& tape, const TapeValue& x) const {
  return activated(tape, x, activation_);
}

Dense::Dense(Scope scope, std::int64_t in, std::int64_t out, DenseOptions options)
    : options_(options),
      kernel_(scope.variable("kernel", {at_least_one(in, "inputs"), at_least_one(out, "outputs")},
                             options.initializer)),
      bias_(scope.variable("bias", {out}, Initializer::zeros)) {}

TapeValue Dense::apply(Tape& tape, const TapeValue& x) const {
  return activated(tape, dense(tape, x, tape.read(kernel_), tape.read(bias_)), options_.activation);
}

Convolution::Convolution(Scope scope, std::int64_t in, std::int64_t out,
                         ConvolutionLayerOptions options)
    : options_(options),
      kernel_(
          scope.variable("kernel",
                         {at_least_one(options.window, "pixels along its window's side"),
                          options.window, at_least_one(in, "inputs"), at_least_one(out, "outputs")},
                         options.initializer)),
      bias_(optional_bias(scope, options.bias, out)) {}

TapeValue Convolution::apply(Tape& tape, const TapeValue& x) const {
  const ConvolutionOptions options{.stride = options_.stride, .padding = options_.padding};
  const TapeValue kernel = tape.read(kernel_);
  return activated(tape,
                   bias_ ? convolution(tape, x, kernel, tape.read(*bias_), options)
                         : convolution(tape, x, kernel, options),
                   options_.activation);
}

DepthwiseConvolution::DepthwiseConvolution(Scope scope, std::int64_t channels,
                                           DepthwiseOptions options)
    : options_(options),
      kernel_(scope.variable("kernel", depthwise_kernel(scope, channels, options))),
      bias_(optional_bias(scope, options.bias, channels * options.multiplier)) {}

TapeValue DepthwiseConvolution::apply(Tape& tape, const TapeValue& x) const {
  TapeValue y = depthwise_convolution(tape, x, tape.read(kernel_),
                                      {.stride = options_.stride, .padding = options_.padding});
  if (bias_) y = add_table(tape, y, tape.read(*bias_));
  return activated(tape, y, options_.activation);
}

SeparableConvolution::SeparableConvolution(const Scope& scope, std::int64_t in, std::int64_t out,
                                           DepthwiseOptions options)
    : depthwise_(scope.below("depthwise"), in,
                 {.window = options.window,
                  .stride = options.stride,
                  .padding = options.padding,
                  .multiplier = options.multiplier,
                  .bias = false,
                  .initializer = options.initializer}),
      pointwise_(scope.below("pointwise"), in * options.multiplier, out,
                 {.window = 1,
                  .activation = options.activation,
                  .bias = options.bias,
                  .initializer = options.initializer}) {}

TapeValue SeparableConvolution::apply(Tape& tape, const TapeValue& x) const {
  return pointwise_.apply(tape, depthwise_.apply(tape, x));
}

TapeValue MaxPool::apply(Tape& tape, const TapeValue& x) const { return max_pool(tape, x, size_); }

TapeValue AveragePool::apply(Tape& tape, const TapeValue& x) const {
  return average_pool(tape, x, size_);
}

TapeValue GlobalAveragePool::apply(Tape& tape, const TapeValue& x) const {
  return average_of_rows(tape, x);
}

TapeValue Flatten::apply(Tape& tape, const TapeValue& x) const {
  require_examples(x, "Flatten");
  return reshape(tape, x, {x.shape()[0], x.shape().without_first().items()});
}

TapeValue Reshape::apply(Tape& tape, const TapeValue& x) const {
  require_examples(x, "Reshape");
  return reshape(tape, x, Shape(x.shape()[0], shape_));
}

TapeValue Dropout::apply(Tape& tape, const TapeValue& x) const { return dropout(tape, x, rate_); }

Embedding::Embedding(Scope scope, std::int64_t rows, std::int64_t features)
    : table_(scope.variable("table",
                            {at_least_one(rows, "rows"), at_least_one(features, "features")},
                            Initializer::small_normal)) {}

TapeValue Embedding::apply(Tape& tape, const TapeValue& ids) const {
  return embedding(tape, tape.read(table_), ids);
}

PositionEmbedding::PositionEmbedding(Scope scope, const Shape& of_an_example)
    : table_(scope.variable("table", of_an_example, Initializer::small_normal)) {}

TapeValue PositionEmbedding::apply(Tape& tape, const TapeValue& x) const {
  return add_table(tape, x, tape.read(table_));
}

LayerNorm::LayerNorm(Scope scope, std::int64_t features, float epsilon)
    : epsilon_(epsilon),
      gain_(scope.variable("gain", {at_least_one(features, "features")}, Initializer::ones)),
      offset_(scope.variable("offset", {features}, Initializer::zeros)) {}

TapeValue LayerNorm::apply(Tape& tape, const TapeValue& x) const {
  return layer_norm(tape, x, tape.read(gain_), tape.read(offset_), epsilon_);
}

BatchNorm::BatchNorm(Scope scope, std::int64_t features, BatchNormOptions options)
    : gain_(scope.variable("gain", {at_least_one(features, "features")}, Initializer::ones)),
      offset_(scope.variable("offset", {features}, Initializer::zeros)),
      statistics_{.mean = scope.variable("mean", {features}, Initializer::zeros, false),
                  .variance = scope.variable("variance", {features}, Initializer::ones, false),
                  .momentum = options.momentum,
                  .epsilon = options.epsilon,
                  .synchronised = options.synchronised} {}

TapeValue BatchNorm::apply(Tape& tape, const TapeValue& x) const {
  return batch_norm(tape, x, tape.read(gain_), tape.read(offset_), statistics_);
}

SelfAttention::SelfAttention(const Scope& scope, std::int64_t features, std::int64_t heads)
    : heads_(at_least_one(heads, "heads")),
      query_(scope.below("query"), features, features),
      key_(scope.below("key"), features, features),
      value_(scope.below("value"), features, features),
      output_(scope.below("output"), features, features) {
  if (features % heads != 0) {
    detail::refuse("self-attention of {} features in {} heads; the heads must divide them",
                   features, heads);
  }
}

TapeValue SelfAttention::apply(Tape& tape, const TapeValue& x) const {
  return output_.apply(tape, attention(tape, query_.apply(tape, x), key_.apply(tape, x),
                                       value_.apply(tape, x), heads_));
}

}  // namespace infeed::nn
