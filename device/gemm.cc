#include "gemm.h"

#include <algorithm>

#include "gemm_kernel.h"

namespace infeed::detail {
namespace {

// A panel of b (16 x 256 floats: 16 KiB) stays in the L1 cache, a block of a (96 x 256: 96 KiB) in
// L2.
constexpr std::int64_t kDepthBlock = 256;
constexpr std::int64_t kRowBlock = 16 * kGemmRows;
constexpr std::int64_t kColumnsMax = 16;

struct Kernel {
  GemmKernel run;
  std::int64_t columns;
};

Kernel choose_kernel(VectorWidth width) {
#if defined(__x86_64__)
  if (width == VectorWidth::widest && __builtin_cpu_supports("avx2")) {
    return {.run = gemm_kernel_256, .columns = 16};
  }
#else
  static_cast<void>(width);
#endif
  return {.run = gemm_kernel_128, .columns = 8};
}

/// Lays rows [row, row + rows) x [depth, depth + depths) out as panels of `panel` rows, the rows of
/// a panel side by side, padded with zeros (which reach no result: they only meet padding).
template <typename T>
void pack(const T* data, std::int64_t row_stride, std::int64_t depth_stride, std::int64_t rows,
          std::int64_t depths, std::int64_t panel, bool round, float* out) {
  for (std::int64_t first = 0; first < rows; first += panel) {
    const std::int64_t real = std::min(panel, rows - first);
    const T* from = data + first * row_stride;
    for (std::int64_t d = 0; d < depths; ++d, out += panel) {
      for (std::int64_t i = 0; i < real; ++i) {
        const float value = static_cast<float>(from[i * row_stride + d * depth_stride]);
        out[i] = round ? static_cast<float>(bfloat16(value)) : value;
      }
      std::fill(out + real, out + panel, 0.0F);
    }
  }
}

/// The part of `matrix` that starts at (row, column); rows become the panels' rows.
void pack_block(const Matrix& matrix, std::int64_t row, std::int64_t column, std::int64_t rows,
                std::int64_t depths, std::int64_t panel, bool round, std::vector<float>& out) {
  const std::int64_t padded = (rows + panel - 1) / panel * panel;
  out.resize(std::max(out.size(), static_cast<std::size_t>(padded * depths)));
  const std::int64_t offset = row * matrix.row_stride + column * matrix.column_stride;
  if (matrix.bf16 != nullptr) {
    pack(matrix.bf16 + offset, matrix.row_stride, matrix.column_stride, rows, depths, panel, false,
         out.data());
  } else {
    pack(matrix.float32 + offset, matrix.row_stride, matrix.column_stride, rows, depths, panel,
         round, out.data());
  }
}

/// One block of rows against all columns, for one block of the depth.
void multiply_block(const Kernel& kernel, const GemmWorkspace& packed, std::int64_t rows,
                    std::int64_t n, std::int64_t depths, bool first, float* c) {
  alignas(64) float tile[kGemmRows * kColumnsMax];
  for (std::int64_t j = 0; j < n; j += kernel.columns) {
    const std::int64_t columns = std::min(kernel.columns, n - j);
    for (std::int64_t i = 0; i < rows; i += kGemmRows) {
      const std::int64_t real = std::min(kGemmRows, rows - i);
      std::fill(std::begin(tile), std::end(tile), 0.0F);
      for (std::int64_t r = 0; r < real && !first; ++r) {
        std::copy_n(c + (i + r) * n + j, columns, tile + r * kernel.columns);
      }
      kernel.run(depths, packed.a.data() + i * depths, packed.b.data() + j * depths, tile);
      for (std::int64_t r = 0; r < real; ++r) {
        std::copy_n(tile + r * kernel.columns, columns, c + (i + r) * n + j);
      }
    }
  }
}

}  // namespace

void gemm(GemmWorkspace& workspace, std::int64_t m, std::int64_t n, std::int64_t k, const Matrix& a,
          const Matrix& b, float* c, const GemmOptions& options) {
  const Kernel kernel = choose_kernel(options.width);
  const bool round = options.round_operands_to_bf16;
  if (k == 0) std::fill_n(c, m * n, 0.0F);
  for (std::int64_t d = 0; d < k; d += kDepthBlock) {
    const std::int64_t depths = std::min(kDepthBlock, k - d);
    pack_block(b.transposed(), 0, d, n, depths, kernel.columns, round, workspace.b);
    for (std::int64_t i = 0; i < m; i += kRowBlock) {
      const std::int64_t rows = std::min(kRowBlock, m - i);
      pack_block(a, i, d, rows, depths, kGemmRows, round, workspace.a);
      multiply_block(kernel, workspace, rows, n, depths, d == 0, c + i * n);
    }
  }
}

}  // namespace infeed::detail
