#pragma once

#include <cstdint>
#include <vector>

#include <infeed/device/vector_width.h>

// Matrix products with one order of summation on every machine: see kernels.h.

namespace infeed::detail {

/// A matrix in memory; element (i, j) lies at i * row_stride + j * column_stride.
struct MatrixView {
  const float* values = nullptr;
  std::int64_t row_stride = 0;
  std::int64_t column_stride = 1;

  MatrixView transposed() const {
    return {.values = values, .row_stride = column_stride, .column_stride = row_stride};
  }
};

/// The format to which operands are rounded first, to nearest even; sums stay float32.
enum class Rounding : std::uint8_t { none, bfloat16, float16 };

struct ProductOptions {
  Rounding rounding = Rounding::none;
  VectorWidth width = VectorWidth::widest;  ///< changes no bit of the result
  bool accumulate = false;                  ///< adds to the values in c
  std::int64_t c_row_stride = 0;            ///< 0: n
};

/// Packed operands, reused between calls so that a step allocates nothing.
struct ProductWorkspace {
  std::vector<float> a;
  std::vector<float> b;
};

/// c[m][n] (row-major) = a[m][k] * b[k][n].
void multiply(ProductWorkspace& workspace, std::int64_t m, std::int64_t n, std::int64_t k,
              const MatrixView& a, const MatrixView& b, float* c, const ProductOptions& options);

}  // namespace infeed::detail
