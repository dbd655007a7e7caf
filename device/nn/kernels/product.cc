#include "product.h"

#include <algorithm>

#include <infeed/records/bfloat16.h>
#include <infeed/records/float16.h>

#include "kernels.h"

namespace infeed::detail {
namespace {

// A panel of b (32 x 256 floats: 32 KiB) stays near the L1 cache, a block of a (96 x 256: 96 KiB)
// in L2.
constexpr std::int64_t kDepthBlock = 256;
constexpr std::int64_t kRowBlock = 96;

float rounded(float value, Rounding rounding) {
  switch (rounding) {
    case Rounding::none:
      return value;
    case Rounding::bfloat16:
      return static_cast<float>(bfloat16(value));
    case Rounding::float16:
      return static_cast<float>(float16(value));
  }
  return value;
}

/// Lays rows x depths of a matrix out as panels of `panel` rows, the rows of a panel side by side,
/// padded with zeros (which reach no result: they only meet padding).
template <bool kContiguousRows>
void pack_panels(const float* data, std::int64_t row_stride, std::int64_t depth_stride,
                 std::int64_t rows, std::int64_t depths, std::int64_t panel, float* out) {
  for (std::int64_t first = 0; first < rows; first += panel) {
    const std::int64_t real = std::min(panel, rows - first);
    const float* from = data + first * row_stride;
    for (std::int64_t d = 0; d < depths; ++d, out += panel) {
      const float* at = from + d * depth_stride;
      if constexpr (kContiguousRows) {
        std::copy_n(at, real, out);
      } else {
        for (std::int64_t i = 0; i < real; ++i) out[i] = at[i * row_stride];
      }
      std::fill(out + real, out + panel, 0.0F);
    }
  }
}

/// The part of `matrix` that starts at (row, column); rows become the panels' rows.
void pack_block(const MatrixView& matrix, std::int64_t row, std::int64_t column, std::int64_t rows,
                std::int64_t depths, std::int64_t panel, Rounding rounding,
                std::vector<float>& out) {
  const std::int64_t size = (rows + panel - 1) / panel * panel * depths;
  out.resize(std::max(out.size(), static_cast<std::size_t>(size)));
  const float* from = matrix.values + row * matrix.row_stride + column * matrix.column_stride;
  const auto pack = matrix.row_stride == 1 ? pack_panels<true> : pack_panels<false>;
  pack(from, matrix.row_stride, matrix.column_stride, rows, depths, panel, out.data());
  if (rounding == Rounding::none) return;
  for (std::int64_t i = 0; i < size; ++i) {
    float& value = out[static_cast<std::size_t>(i)];
    value = rounded(value, rounding);
  }
}

/// One block of rows against all columns, for one block of the depth.
void multiply_block(const Kernels& kernel, const ProductWorkspace& packed, std::int64_t rows,
                    std::int64_t n, std::int64_t depths, bool from_zero, float* c,
                    std::int64_t c_row_stride) {
  alignas(64) float tile[kTileRowsMax * kTileColumnsMax];
  for (std::int64_t j = 0; j < n; j += kernel.columns) {
    const std::int64_t columns = std::min(kernel.columns, n - j);
    const float* const right = packed.b.data() + j * depths;
    for (std::int64_t i = 0; i < rows; i += kernel.rows) {
      const std::int64_t real = std::min(kernel.rows, rows - i);
      const float* const left = packed.a.data() + i * depths;
      float* const to = c + i * c_row_stride + j;
      if (real == kernel.rows && columns == kernel.columns) {
        kernel.product(depths, left, right, to, c_row_stride, !from_zero);
        continue;
      }
      // At the edges, beside c.
      std::fill_n(tile, kernel.rows * kernel.columns, 0.0F);
      for (std::int64_t r = 0; r < real && !from_zero; ++r) {
        std::copy_n(to + r * c_row_stride, columns, tile + r * kernel.columns);
      }
      kernel.product(depths, left, right, tile, kernel.columns, true);
      for (std::int64_t r = 0; r < real; ++r) {
        std::copy_n(tile + r * kernel.columns, columns, to + r * c_row_stride);
      }
    }
  }
}

}  // namespace

void multiply(ProductWorkspace& workspace, std::int64_t m, std::int64_t n, std::int64_t k,
              const MatrixView& a, const MatrixView& b, float* c, const ProductOptions& options) {
  const Kernels& kernel = kernels(options.width);
  const std::int64_t stride = options.c_row_stride == 0 ? n : options.c_row_stride;
  if (k == 0 && !options.accumulate) {
    for (std::int64_t i = 0; i < m; ++i) std::fill_n(c + i * stride, n, 0.0F);
  }
  for (std::int64_t d = 0; d < k; d += kDepthBlock) {
    const std::int64_t depths = std::min(kDepthBlock, k - d);
    pack_block(b.transposed(), 0, d, n, depths, kernel.columns, options.rounding, workspace.b);
    for (std::int64_t i = 0; i < m; i += kRowBlock) {
      const std::int64_t rows = std::min(kRowBlock, m - i);
      pack_block(a, i, d, rows, depths, kernel.rows, options.rounding, workspace.a);
      multiply_block(kernel, workspace, rows, n, depths, d == 0 && !options.accumulate,
                     c + i * stride, stride);
    }
  }
}

}  // namespace infeed::detail
