#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include <infeed/device/operations.h>
#include <infeed/device/tape.h>

/// Why: a layer is a set of variables, made once in a scope, and a function that applies them on
/// each step's tape.
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

/// A layer that is one function, which holds the variables that it reads.
class FunctionLayer : public Layer {
 public:
  using Function = std::function<TapeValue(Tape& tape, const TapeValue& x)>;
  explicit FunctionLayer(Function function) : function_(std::move(function)) {}
  TapeValue apply(Tape& tape, const TapeValue& x) const override { return function_(tape, x); }

 protected:
  FunctionLayer() = default;
  Function function_;  ///< set by a constructor that makes variables in the seed's order
};

/// Applies its layers one after the other.
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

enum class Activation : std::uint8_t { none, relu, gelu, tanh, sigmoid };

struct Activate : FunctionLayer {
  explicit Activate(Activation activation);
};

/// x + inner(x), or shortcut(x) + inner(x) where inner changes the shape.
struct Residual : FunctionLayer {
  template <class L, class S = Activate>
  explicit Residual(L inner, S shortcut = Activate(Activation::none))
      : FunctionLayer([inner = std::move(inner), shortcut = std::move(shortcut)](
                          Tape& tape, const TapeValue& x) {
          const TapeValue around = shortcut.apply(tape, x);
          return add(tape, around, inner.apply(tape, x));
        }) {}
};

struct DenseOptions {
  Activation activation = Activation::none;
  Initializer initializer = Initializer::glorot_uniform;
};

/// Maps [..., in] to [..., out]. Variables: "kernel", "bias".
struct Dense : FunctionLayer {
  Dense(Scope scope, std::int64_t in, std::int64_t out, DenseOptions options = {});
};

struct ConvolutionLayerOptions {
  std::int64_t window = 3;  ///< pixels along each side
  std::int64_t stride = 1;
  Padding padding = Padding::same;
  Activation activation = Activation::none;
  bool bias = true;  ///< false before a batch norm, which would remove the bias again
  Initializer initializer = Initializer::he_normal;
};

/// Maps [examples, height, width, in] to `out` channels. Variables: "kernel", "bias".
struct Convolution : FunctionLayer {
  Convolution(Scope scope, std::int64_t in, std::int64_t out, ConvolutionLayerOptions options = {});
};

struct MaxPool : FunctionLayer {
  explicit MaxPool(std::int64_t size);
};

struct AveragePool : FunctionLayer {
  explicit AveragePool(std::int64_t size);
};

/// Averages over all pixels: [examples, ..., features] to [examples, features].
struct GlobalAveragePool : FunctionLayer {
  GlobalAveragePool() : FunctionLayer(average_of_rows) {}
};

/// Flattens [examples, ...] to [examples, items].
struct Flatten : FunctionLayer {
  Flatten();
};

/// Gives each example's items another shape: [examples, 784] to [examples, 28, 28, 1].
struct Reshape : FunctionLayer {
  explicit Reshape(Shape of_an_example);
};

struct Dropout : FunctionLayer {
  explicit Dropout(double rate);
};

/// Maps ids to rows of features. Variable: "table".
struct Embedding : FunctionLayer {
  Embedding(Scope scope, std::int64_t rows, std::int64_t features);
};

/// Adds learnt values to each position. Variable: "table" of the given shape.
struct PositionEmbedding : FunctionLayer {
  PositionEmbedding(Scope scope, const Shape& of_an_example);
};

/// Normalises over the last axis. Variables: "gain", "offset".
struct LayerNorm : FunctionLayer {
  LayerNorm(Scope scope, std::int64_t features, float epsilon = 1e-5F);
};

struct BatchNormOptions {
  float momentum = 0.99F;
  float epsilon = 1e-3F;
  /// True: takes the statistics of all replicas' examples (SyncBN), which then run together.
  bool synchronised = false;
};

/// Normalises over all axes but the last. Variables: "gain", "offset", and "mean", "variance",
/// which no gradient moves.
struct BatchNorm : FunctionLayer {
  BatchNorm(Scope scope, std::int64_t features, BatchNormOptions options = {});
};

/// Multi-head self-attention, made of the dense layers "query", "key", "value" and "output".
struct SelfAttention : FunctionLayer {
  SelfAttention(const Scope& scope, std::int64_t features, std::int64_t heads);
};

}  // namespace infeed::nn
