#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>

#include <infeed/device/operations.h>

#include "refuse.h"

// Where the windows of a convolution lie.

namespace infeed::nn {

/// One axis of a convolution.
struct WindowAxis {
  WindowAxis(std::int64_t in_items, std::int64_t window_items, const ConvolutionOptions& options)
      : in(in_items), window(window_items), stride(options.stride) {
    if (options.padding == Padding::valid) {
      out = in < window ? 0 : (in - window) / stride + 1;
    } else {
      out = (in + stride - 1) / stride;
      before = std::max<std::int64_t>(0, (out - 1) * stride + window - in) / 2;
    }
  }
  /// The items of window `at` that lie inside: first, ..., last - 1.
  std::int64_t first(std::int64_t at) const {
    return std::clamp<std::int64_t>(before - at * stride, 0, window);
  }
  std::int64_t last(std::int64_t at) const {
    return std::clamp<std::int64_t>(in + before - at * stride, 0, window);
  }
  /// Item `i` of window `at`, counted from the axis' first.
  std::int64_t item(std::int64_t at, std::int64_t i) const { return at * stride + i - before; }

  std::int64_t in = 0;
  std::int64_t window = 0;
  std::int64_t stride = 1;
  std::int64_t before = 0;  ///< zeros in front of the first
  std::int64_t out = 0;
};

inline void require_stride(const ConvolutionOptions& options) {
  constexpr std::int64_t kStrideMax = std::numeric_limits<std::int32_t>::max();
  if (options.stride >= 1 && options.stride <= kStrideMax) return;
  detail::refuse("a convolution with a stride of {}; it takes 1 to {} pixels", options.stride,
                 kStrideMax);
}

}  // namespace infeed::nn
