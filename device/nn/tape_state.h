#pragma once

#include <algorithm>
#include <functional>
#include <span>

#include <infeed/device/tape.h>

#include "nn/kernels/kernels.h"
#include "nn/kernels/product.h"

namespace infeed {

struct Tape::Workspace {
  detail::ProductWorkspace product;
  std::vector<float> patches;
};

namespace nn {

inline detail::Rounding rounding_of(Precision precision) {
  switch (precision) {
    case Precision::float32:
      return detail::Rounding::none;
    case Precision::mixed_bfloat16:
      return detail::Rounding::bfloat16;
    case Precision::mixed_float16:
      return detail::Rounding::float16;
  }
  return detail::Rounding::none;
}

inline detail::ProductOptions product_options(const Tape& tape) {
  return {.rounding = rounding_of(tape.options().precision), .width = tape.options().width};
}

inline Tensor zeros(const Tape& tape, const Shape& shape) {
  Tensor tensor = tape.make(shape);
  std::ranges::fill(tensor.writable<float>(), 0.0F);
  return tensor;
}

/// f(items of each of `from`, which have this shape). Inlined, so that each file has it as optimised as it
/// says itself.
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

/// The sum of item(0), ..., item(count - 1): eight running sums that are added by a tree, one order in
/// vectors of any width.
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

}  // namespace nn
}  // namespace infeed
