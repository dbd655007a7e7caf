#pragma once

#include <cstdint>
#include <vector>

#include <infeed/device/global_batch.h>

// Matrix products with one order of summation whatever the machine: see gemm_kernel.h.

namespace infeed::detail {

/// A matrix somewhere in memory; element (i, j) lies at i * row_stride + j * column_stride.
struct Matrix {
  const float* float32 = nullptr;
  const bfloat16* bf16 = nullptr;
  std::int64_t row_stride = 0;
  std::int64_t column_stride = 1;

  static Matrix of(const FeatureColumn& rows) {
    return {.float32 = rows.float32, .bf16 = rows.bf16, .row_stride = rows.features_per_example};
  }
  Matrix transposed() const {
    return {
        .float32 = float32, .bf16 = bf16, .row_stride = column_stride, .column_stride = row_stride};
  }
};

enum class VectorWidth { widest, bits_128 };

struct GemmOptions {
  bool round_operands_to_bf16 = false;
  VectorWidth width = VectorWidth::widest;  ///< changes no bit of the result
};

/// Packed operands; reused between calls so that a step allocates nothing.
struct GemmWorkspace {
  std::vector<float> a;
  std::vector<float> b;
};

/// c[m][n] (row-major, dense) = a[m][k] * b[k][n].
void gemm(GemmWorkspace& workspace, std::int64_t m, std::int64_t n, std::int64_t k, const Matrix& a,
          const Matrix& b, float* c, const GemmOptions& options);

}  // namespace infeed::detail
