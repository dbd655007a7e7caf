#pragma once

#include <cstdint>

#include <infeed/device/layers.h>

/// Why: most multiply-adds of a convolution mix all channels with all others at each pixel of the
/// window. A separable one filters each channel's window by itself, then mixes the channels of a
/// pixel: window^2 + out multiply-adds an item instead of window^2 * out (Howard et al.,
/// MobileNets, 2017).
///
///     infeed::Scope scope({.seed = 42});
///     infeed::nn::SeparableConvolution layer(scope.below("block"), 32, 64, {.stride = 2});
///     infeed::Tape tape({.training = true});
///     infeed::TapeValue images =
///         tape.constant(infeed::Tensor(infeed::DType::float32, {8, 28, 28, 32}));
///     infeed::TapeValue y = layer.apply(tape, images);      // [8, 14, 14, 64]
///
/// Thread-safety and errors: as layers.h.
namespace infeed::nn {

struct DepthwiseOptions {
  std::int64_t window = 3;  ///< pixels along each side
  std::int64_t stride = 1;
  Padding padding = Padding::same;
  std::int64_t multiplier = 1;  ///< output channels for each input channel
  Activation activation = Activation::none;
  bool bias = true;  ///< false before a batch norm, which would remove the bias again
  Initializer initializer = Initializer::he_normal;  ///< counts the window of one channel as inputs
};

/// Maps [examples, height, width, channels] to channels * multiplier. Variables: "kernel", "bias".
struct DepthwiseConvolution : FunctionLayer {
  DepthwiseConvolution(Scope scope, std::int64_t channels, DepthwiseOptions options = {});
};

/// A depthwise convolution without bias and activation, then a 1 x 1 convolution with both, to
/// `out` channels. Variables: "depthwise/kernel", "pointwise/kernel", "pointwise/bias".
struct SeparableConvolution : FunctionLayer {
  SeparableConvolution(const Scope& scope, std::int64_t in, std::int64_t out,
                       DepthwiseOptions options = {});
};

}  // namespace infeed::nn
