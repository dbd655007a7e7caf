#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <limits>
#include <span>
#include <string_view>
#include <vector>

#include <infeed/device/operations.h>
#include <infeed/device/tape.h>

#include "nn/kernels/kernels.h"
#include "nn/kernels/product.h"
#include "refuse.h"

// Parts that operations share.

namespace infeed {

struct Tape::Workspace {
  detail::ProductWorkspace product;
  std::vector<float> patches;
};

namespace nn {

inline detail::ProductOptions product_options(const Tape& tape) {
  detail::ProductOptions options{.width = tape.options().width};
  const Precision precision = tape.options().precision;
  if (precision == Precision::mixed_bfloat16) options.rounding = detail::Rounding::bfloat16;
  if (precision == Precision::mixed_float16) options.rounding = detail::Rounding::float16;
  return options;
}

inline Tensor zeros(const Tape& tape, const Shape& shape) {
  Tensor tensor = tape.make(shape);
  std::ranges::fill(tensor.writable<float>(), 0.0F);
  return tensor;
}

/// Returns f(items of each of `from`, which have this shape). Inlined, so that each file compiles
/// it with its own optimisation.
template <class F, class... Items>
[[gnu::always_inline]] inline Tensor mapped(const Tape& tape, const Shape& shape, F f,
                                            const Items&... from) {
  Tensor y = tape.make(shape);
  const std::span<float> to = y.writable<float>();
  for (std::size_t i = 0; i < to.size(); ++i) to[i] = f(from[i]...);
  return y;
}

[[gnu::always_inline]] inline Tensor product_of(const Tape& tape, const Tensor& a,
                                                const Tensor& b) {
  return mapped(tape, a.shape(), std::multiplies<float>(), a.values<float>(), b.values<float>());
}

inline float* values_of(Tensor& tensor) { return tensor.writable<float>().data(); }
inline const float* values_of(const TapeValue& value) { return value.values().data(); }

/// Returns the sum of item(0), ..., item(count - 1): eight running sums that are added by a tree,
/// one order in vectors of any width.
template <class Real, class Item>
[[gnu::always_inline]] inline Real sum_of_items(std::int64_t count, Item item) {
  Real lanes[8] = {};
  std::int64_t i = 0;
  for (; i + 8 <= count; i += 8) {
    for (int lane = 0; lane < 8; ++lane) lanes[lane] += item(i + lane);
  }
  for (int lane = 0; i < count; ++i, ++lane) lanes[lane] += item(i);
  return ((lanes[0] + lanes[4]) + (lanes[2] + lanes[6])) +
         ((lanes[1] + lanes[5]) + (lanes[3] + lanes[7]));
}
inline float sum_of(const float* values, std::int64_t count) {
  return sum_of_items<float>(count, [values](std::int64_t i) { return values[i]; });
}
inline float dot_of(const float* x, const float* y, std::int64_t count) {
  return sum_of_items<float>(count, [x, y](std::int64_t i) { return x[i] * y[i]; });
}

inline void require_fit(bool fits, std::string_view operation, const Shape& a, const Shape& b) {
  if (fits) return;
  detail::refuse("{} of {} with {}: the shapes don't fit", operation, a.to_string(), b.to_string());
}

inline detail::MatrixView rows_of(const float* values, std::int64_t columns) {
  return {.values = values, .row_stride = columns};
}

inline void add_bias(std::span<float> rows, std::span<const float> bias) {
  for (std::size_t first = 0; first < rows.size(); first += bias.size()) {
    for (std::size_t j = 0; j < bias.size(); ++j) rows[first + j] += bias[j];
  }
}

inline Tensor column_sums(const Tape& tape, const Tensor& rows, const Shape& shape) {
  Tensor sums = zeros(tape, shape);
  const std::span<float> to = sums.writable<float>();
  const std::span<const float> from = rows.values<float>();
  for (std::size_t first = 0; first < from.size(); first += to.size()) {
    for (std::size_t j = 0; j < to.size(); ++j) to[j] += from[first + j];
  }
  return sums;
}

/// Copies a block of rows between matrices with different row strides, in items.
inline void copy_block(std::int64_t rows, std::int64_t columns, const float* from,
                       std::int64_t from_stride, float* to, std::int64_t to_stride) {
  for (std::int64_t row = 0; row < rows; ++row) {
    std::copy_n(from + row * from_stride, columns, to + row * to_stride);
  }
}

/// Returns the product of all extents but the last.
inline std::int64_t rows_in(const Shape& shape) {
  std::int64_t rows = 1;
  for (std::size_t i = 0; i + 1 < shape.rank(); ++i) rows *= shape[i];
  return rows;
}

inline Shape with_last(const Shape& shape, std::int64_t last) {
  std::vector<std::int64_t> extents(shape.begin(), shape.end());
  extents.back() = last;
  return Shape(std::span<const std::int64_t>(extents));
}

/// One axis of a convolution: the places of its windows.
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
  /// Items first, ..., last - 1 of window `at` lie inside.
  std::int64_t first(std::int64_t at) const {
    return std::clamp<std::int64_t>(before - at * stride, 0, window);
  }
  std::int64_t last(std::int64_t at) const {
    return std::clamp<std::int64_t>(in + before - at * stride, 0, window);
  }
  /// Returns the place of item `i` of window `at`, counted from the axis' first item.
  std::int64_t item(std::int64_t at, std::int64_t i) const { return at * stride + i - before; }

  std::int64_t in = 0;
  std::int64_t window = 0;
  std::int64_t stride = 1;
  std::int64_t before = 0;  ///< zeros in front of the first item
  std::int64_t out = 0;
};

inline void require_stride(const ConvolutionOptions& options) {
  constexpr std::int64_t kStrideMax = std::numeric_limits<std::int32_t>::max();
  if (options.stride >= 1 && options.stride <= kStrideMax) return;
  detail::refuse("a convolution with a stride of {}; it takes 1 to {} pixels", options.stride,
                 kStrideMax);
}

}  // namespace nn
}  // namespace infeed
