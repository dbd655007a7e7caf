#pragma once

#include <cstdint>

#include <infeed/device/layers.h>

/// Why: most of what a convolution multiplies is channels by channels, at each pixel of its window. One that
/// looks at each channel's window by itself and then mixes the channels of a pixel takes window^2 + out
/// multiply-adds an item instead of window^2 * out (Howard et al., MobileNets, 2017).
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
  std::int64_t multiplier = 1;  ///< channels that each one becomes
  Activation activation = Activation::none;
  bool bias = true;  ///< false where a batch norm follows, which takes it off again
  Initializer initializer = Initializer::he_normal;  ///< counts the window of one channel as inputs
};

/// [examples, height, width, channels] to channels * multiplier: "kernel", "bias".
struct DepthwiseConvolution : FunctionLayer {
  DepthwiseConvolution(Scope scope, std::int64_t channels, DepthwiseOptions options = {});
};

/// The same without bias and activation, then a convolution of 1 x 1 with both, to `out` channels:
/// "depthwise/kernel", "pointwise/kernel", "pointwise/bias".
struct SeparableConvolution : FunctionLayer {
  SeparableConvolution(const Scope& scope, std::int64_t in, std::int64_t out,
                       DepthwiseOptions options = {});
};

}  // namespace infeed::nn
