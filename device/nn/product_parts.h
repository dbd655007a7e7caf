#pragma once

#include <span>
#include <string_view>
#include <vector>

#include <infeed/device/tape.h>

#include "refuse.h"
#include "tape_state.h"

// What the operations that are made of products share.

namespace infeed::nn {

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

/// All items but those of the last axis.
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

}  // namespace infeed::nn
