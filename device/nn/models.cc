#include "infeed/device/models.h"

#include <algorithm>
#include <array>
#include <fmt/format.h>

#include "refuse.h"

namespace infeed::nn {
namespace {

constexpr std::int64_t kSide = 28;
constexpr std::int64_t kClasses = 10;
constexpr DenseOptions kRelu{.activation = Activation::relu, .initializer = Initializer::he_normal};

constexpr std::array<std::string_view, 4> kModels = {"mlp", "convnet", "resnet", "transformer"};

void require_model(std::string_view name) {
  if (std::ranges::find(kModels, name) != kModels.end()) return;
  detail::refuse("there is no model '{}'; take one of {}", name, fmt::join(kModels, ", "));
}

Sequential made(std::string_view name, const Scope& scope) {
  if (name == "mlp") return mlp(scope);
  if (name == "convnet") return convnet(scope);
  return name == "resnet" ? resnet(scope) : transformer(scope);
}

double peak_rate_of(std::string_view name) {
  if (name == "mlp") return 1e-3;
  if (name == "convnet") return 2e-3;
  return name == "resnet" ? 5e-3 : 3e-3;
}

/// "convolution" without a bias, which the norm would remove again, and "norm".
Sequential normalised_convolution(const Scope& scope, std::int64_t in, std::int64_t out,
                                  std::int64_t window, std::int64_t stride) {
  // With 0.99 the running statistics of short trainings would lag behind.
  constexpr float kMomentum = 0.9F;
  Sequential both;
  both.add(Convolution(scope.below("convolution"), in, out,
                       {.window = window, .stride = stride, .bias = false}))
      .add(BatchNorm(scope.below("norm"), out, {.momentum = kMomentum}));
  return both;
}

}  // namespace

Sequential mlp(const Scope& scope) {
  Sequential model;
  model.add(Flatten())
      .add(Dense(scope.below("hidden"), kSide * kSide, 128, kRelu))
      .add(Dense(scope.below("logits"), 128, kClasses));
  return model;
}

Sequential convnet(const Scope& scope, double dropout_rate) {
  Sequential model;
  model.add(Reshape({kSide, kSide, 1}))
      .add(Convolution(scope.below("convolution_1"), 1, 32, {.activation = Activation::relu}))
      .add(MaxPool(2))
      .add(Convolution(scope.below("convolution_2"), 32, 64, {.activation = Activation::relu}))
      .add(MaxPool(2))
      .add(Flatten())
      .add(Dropout(dropout_rate))
      .add(Dense(scope.below("hidden"), kSide / 4 * (kSide / 4) * 64, 128, kRelu))
      .add(Dropout(dropout_rate))
      .add(Dense(scope.below("logits"), 128, kClasses));
  return model;
}

Sequential residual_block(const Scope& scope, std::int64_t in, std::int64_t out,
                          std::int64_t stride) {
  Sequential inner;
  inner.add(normalised_convolution(scope.below("first"), in, out, 3, stride))
      .add(Activate(Activation::relu))
      .add(normalised_convolution(scope.below("second"), out, out, 3, 1));
  Sequential block;
  if (stride == 1 && in == out) {
    block.add(Residual(std::move(inner)));
  } else {
    block.add(Residual(std::move(inner),
                       normalised_convolution(scope.below("shortcut"), in, out, 1, stride)));
  }
  block.add(Activate(Activation::relu));
  return block;
}

Sequential resnet(const Scope& scope) {
  Sequential model;
  model.add(Reshape({kSide, kSide, 1}))
      .add(normalised_convolution(scope.below("first"), 1, 16, 3, 1))
      .add(Activate(Activation::relu))
      .add(residual_block(scope.below("block_1"), 16, 16, 1))
      .add(residual_block(scope.below("block_2"), 16, 32, 2))
      .add(residual_block(scope.below("block_3"), 32, 64, 2))
      .add(GlobalAveragePool())
      .add(Dense(scope.below("logits"), 64, kClasses));
  return model;
}

Sequential transformer_block(const Scope& scope, std::int64_t features, std::int64_t heads,
                             std::int64_t hidden, double dropout_rate) {
  Sequential attention;
  attention.add(LayerNorm(scope.below("norm_1"), features))
      .add(SelfAttention(scope.below("attention"), features, heads))
      .add(Dropout(dropout_rate));
  Sequential dense;
  dense.add(LayerNorm(scope.below("norm_2"), features))
      .add(Dense(scope.below("hidden"), features, hidden, {.activation = Activation::gelu}))
      .add(Dense(scope.below("output"), hidden, features))
      .add(Dropout(dropout_rate));
  Sequential block;
  block.add(Residual(std::move(attention))).add(Residual(std::move(dense)));
  return block;
}

Sequential transformer(const Scope& scope, double dropout_rate) {
  constexpr std::int64_t kFeatures = 64;
  constexpr std::int64_t kHeads = 4;
  Sequential model;
  model.add(Reshape({kSide, kSide}))
      .add(Dense(scope.below("rows"), kSide, kFeatures))
      .add(PositionEmbedding(scope.below("positions"), {kSide, kFeatures}))
      .add(
          transformer_block(scope.below("block_1"), kFeatures, kHeads, 2 * kFeatures, dropout_rate))
      .add(
          transformer_block(scope.below("block_2"), kFeatures, kHeads, 2 * kFeatures, dropout_rate))
      .add(LayerNorm(scope.below("norm"), kFeatures))
      .add(GlobalAveragePool())
      .add(Dense(scope.below("logits"), kFeatures, kClasses));
  return model;
}

std::span<const std::string_view> model_names() { return kModels; }

Schedule rate_for_model(std::string_view name, std::uint64_t steps) {
  require_model(name);
  const std::uint64_t warming = std::clamp<std::uint64_t>(steps / 10, 1, 200);
  return warm_up(warming,
                 cosine_decay(peak_rate_of(name), std::max(steps, warming + 1) - warming, 0.02));
}

std::shared_ptr<const Layer> model_named(std::string_view name, const Scope& scope) {
  require_model(name);
  return std::make_shared<const Sequential>(made(name, scope));
}

}  // namespace infeed::nn
