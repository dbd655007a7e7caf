#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include <infeed/device/operations.h>
#include <infeed/device/tape.h>

/// Why: a layer is its variables, made once in a scope, and what it does with them on each step's
/// tape.
///
///     infeed::Scope scope({.seed = 42});
///     infeed::nn::Sequential model;
///     model.add(infeed::nn::Flatten())
///         .add(infeed::nn::Dense(scope.below("hidden"), 784, 128,
///                                {.activation = infeed::nn::Activation::relu}))
///         .add(infeed::nn::Dense(scope.below("logits"), 128, 10));
///     infeed::Tape tape({.training = true});
///     infeed::TapeValue images = tape.constant(infeed::Tensor(infeed::DType::float32, {32, 28, 28}));
///     infeed::TapeValue logits = model.apply(tape, images);     // [32, 10]
///
/// A layer of your own derives from Layer. Copies share their variables.
/// Thread-safety: apply() from any number of threads, each with a tape of its own.
/// Errors: those of operations.h; invalid_argument for sizes below 1.
namespace infeed::nn {

class Layer {
 public:
  virtual ~Layer() = default;
  virtual TapeValue apply(Tape& tape, const TapeValue& x) const = 0;
};

/// One layer behind the other.
class Sequential : public Layer {
 public:
  template <class L>
  Sequential& add(L layer) {
    layers_.push_back(std::make_shared<const L>(std::move(layer)));
    return *this;
  }
  TapeValue apply(Tape& tape, const TapeValue& x) const override;

 private:
  std::vector<std::shared_ptr<const Layer>> layers_;
};

/// x + inner(x), or shortcut(x) + inner(x) where inner changes the shape.
class Residual : public Layer {
 public:
  template <class L>
  explicit Residual(L inner) : inner_(std::make_shared<const L>(std::move(inner))) {}
  template <class L, class S>
  Residual(L inner, S shortcut)
      : inner_(std::make_shared<const L>(std::move(inner))),
        shortcut_(std::make_shared<const S>(std::move(shortcut))) {}
  TapeValue apply(Tape& tape, const TapeValue& x) const override;

 private:
  std::shared_ptr<const Layer> inner_;
  std::shared_ptr<const Layer> shortcut_ = nullptr;  ///< null: x itself
};

enum class Activation : std::uint8_t { none, relu, gelu, tanh, sigmoid };

class Activate : public Layer {
 public:
  explicit Activate(Activation activation) : activation_(activation) {}
  TapeValue apply(Tape& tape, const TapeValue& x) const override;

 private:
  Activation activation_;
};

struct DenseOptions {
  Activation activation = Activation::none;
  Initializer initializer = Initializer::glorot_uniform;
};

/// [..., in] to [..., out]: "kernel", "bias".
class Dense : public Layer {
 public:
  Dense(Scope scope, std::int64_t in, std::int64_t out, DenseOptions options = {});
  TapeValue apply(Tape& tape, const TapeValue& x) const override;

 private:
  DenseOptions options_;
  Variable kernel_;
  Variable bias_;
};

struct ConvolutionLayerOptions {
  std::int64_t window = 3;  ///< pixels along each side
  std::int64_t stride = 1;
  Padding padding = Padding::same;
  Activation activation = Activation::none;
  bool bias = true;  ///< false where a batch norm follows, which takes it off again
  Initializer initializer = Initializer::he_normal;
};

/// [examples, height, width, in] to `out` channels: "kernel", "bias".
class Convolution : public Layer {
 public:
  Convolution(Scope scope, std::int64_t in, std::int64_t out, ConvolutionLayerOptions options = {});
  TapeValue apply(Tape& tape, const TapeValue& x) const override;

 private:
  ConvolutionLayerOptions options_;
  Variable kernel_;
  std::optional<Variable> bias_;
};

class MaxPool : public Layer {
 public:
  explicit MaxPool(std::int64_t size) : size_(size) {}
  TapeValue apply(Tape& tape, const TapeValue& x) const override;

 private:
  std::int64_t size_;
};

class AveragePool : public Layer {
 public:
  explicit AveragePool(std::int64_t size) : size_(size) {}
  TapeValue apply(Tape& tape, const TapeValue& x) const override;

 private:
  std::int64_t size_;
};

/// [examples, ..., features] to [examples, features].
class GlobalAveragePool : public Layer {
 public:
  TapeValue apply(Tape& tape, const TapeValue& x) const override;
};

/// [examples, ...] to [examples, items].
class Flatten : public Layer {
 public:
  TapeValue apply(Tape& tape, const TapeValue& x) const override;
};

/// Each example's items in another shape: [examples, 784] to [examples, 28, 28, 1].
class Reshape : public Layer {
 public:
  explicit Reshape(Shape of_an_example) : shape_(std::move(of_an_example)) {}
  TapeValue apply(Tape& tape, const TapeValue& x) const override;

 private:
  Shape shape_;
};

class Dropout : public Layer {
 public:
  explicit Dropout(double rate) : rate_(rate) {}
  TapeValue apply(Tape& tape, const TapeValue& x) const override;

 private:
  double rate_;
};

/// Ids to rows of features: "table".
class Embedding : public Layer {
 public:
  Embedding(Scope scope, std::int64_t rows, std::int64_t features);
  TapeValue apply(Tape& tape, const TapeValue& ids) const override;

 private:
  Variable table_;
};

/// Adds what is learnt for each place: "table" of the given shape.
class PositionEmbedding : public Layer {
 public:
  PositionEmbedding(Scope scope, const Shape& of_an_example);
  TapeValue apply(Tape& tape, const TapeValue& x) const override;

 private:
  Variable table_;
};

/// Over the last axis: "gain", "offset".
class LayerNorm : public Layer {
 public:
  LayerNorm(Scope scope, std::int64_t features, float epsilon = 1e-5F);
  TapeValue apply(Tape& tape, const TapeValue& x) const override;

 private:
  float epsilon_;
  Variable gain_;
  Variable offset_;
};

struct BatchNormOptions {
  float momentum = 0.99F;
  float epsilon = 1e-3F;
  /// Statistics of all replicas' examples (SyncBN), which must then run at the same time.
  bool synchronised = false;
};

/// Over all axes but the last: "gain", "offset", and, which no gradient moves, "mean", "variance".
class BatchNorm : public Layer {
 public:
  BatchNorm(Scope scope, std::int64_t features, BatchNormOptions options = {});
  TapeValue apply(Tape& tape, const TapeValue& x) const override;

 private:
  Variable gain_;
  Variable offset_;
  BatchStatistics statistics_;
};

/// Multi-head self-attention: dense layers "query", "key", "value", "output".
class SelfAttention : public Layer {
 public:
  SelfAttention(const Scope& scope, std::int64_t features, std::int64_t heads);
  TapeValue apply(Tape& tape, const TapeValue& x) const override;

 private:
  std::int64_t heads_;
  Dense query_;
  Dense key_;
  Dense value_;
  Dense output_;
};

}  // namespace infeed::nn
