#include "product.h"

#include <algorithm>
#include <cstring>

#include "kernels.h"

namespace infeed::detail {
namespace {

// A panel of b (32 x 256 floats: 32 KiB) stays near the L1 cache, a block of a (96 x 256: 96 KiB)
// in L2.
constexpr std::int64_t kDepthBlock = 256;
constexpr std::int64_t kRowBlock = 96;

using Vector4 = float __attribute__((vector_size(16)));

// Copies, since clang takes a reference to an unaligned vector for one to an aligned vector.
[[gnu::always_inline]] inline Vector4 load_vector(const float* place) {
  Vector4 vector;
  std::memcpy(&vector, place, sizeof(vector));
  return vector;
}
[[gnu::always_inline]] inline void store_vector(float* place, const Vector4& vector) {
  std::memcpy(place, &vector, sizeof(vector));
}

/// Transposes four rows of four depths. In `from` each row's depths lie side by side, in `out` each
/// depth's rows.
[[gnu::always_inline]] inline void transpose_4x4(const float* from, std::int64_t row_stride,
                                                 float* out, std::int64_t panel) {
  const Vector4 r0 = load_vector(from);
  const Vector4 r1 = load_vector(from + row_stride);
  const Vector4 r2 = load_vector(from + 2 * row_stride);
  const Vector4 r3 = load_vector(from + 3 * row_stride);
  const Vector4 low01 = __builtin_shufflevector(r0, r1, 0, 4, 1, 5);
  const Vector4 high01 = __builtin_shufflevector(r0, r1, 2, 6, 3, 7);
  const Vector4 low23 = __builtin_shufflevector(r2, r3, 0, 4, 1, 5);
  const Vector4 high23 = __builtin_shufflevector(r2, r3, 2, 6, 3, 7);
  store_vector(out, __builtin_shufflevector(low01, low23, 0, 1, 4, 5));
  store_vector(out + panel, __builtin_shufflevector(low01, low23, 2, 3, 6, 7));
  store_vector(out + 2 * panel, __builtin_shufflevector(high01, high23, 0, 1, 4, 5));
  store_vector(out + 3 * panel, __builtin_shufflevector(high01, high23, 2, 3, 6, 7));
}

/// Packs one panel of kPanel rows, all of which are real.
template <std::int64_t kPanel>
void pack_full_panel(const float* from, std::int64_t row_stride, std::int64_t depth_stride,
                     std::int64_t depths, float* out) {
  std::int64_t d = 0;
  if (row_stride == 1) {
    for (; d < depths; ++d) {
      for (std::int64_t i = 0; i < kPanel; ++i) out[d * kPanel + i] = from[d * depth_stride + i];
    }
  } else if (depth_stride == 1 && kPanel % 4 == 0) {
    for (; d + 4 <= depths; d += 4) {
      for (std::int64_t i = 0; i + 4 <= kPanel; i += 4) {
        transpose_4x4(from + i * row_stride + d, row_stride, out + d * kPanel + i, kPanel);
      }
    }
  }
  for (; d < depths; ++d) {
    for (std::int64_t i = 0; i < kPanel; ++i) {
      out[d * kPanel + i] = from[i * row_stride + d * depth_stride];
    }
  }
}

/// Packs one panel with `real` real rows, padded with zeros (which reach no result: they only meet
/// padding).
void pack_padded_panel(const float* from, std::int64_t row_stride, std::int64_t depth_stride,
                       std::int64_t real, std::int64_t panel, std::int64_t depths, float* out) {
  for (std::int64_t d = 0; d < depths; ++d, out += panel) {
    for (std::int64_t i = 0; i < real; ++i) out[i] = from[i * row_stride + d * depth_stride];
    std::fill(out + real, out + panel, 0.0F);
  }
}

using PackFullPanel = void (*)(const float*, std::int64_t, std::int64_t, std::int64_t, float*);

/// Returns null for a panel of another size.
template <std::int64_t... kPanels>
PackFullPanel pack_full_panel_of(std::int64_t panel) {
  PackFullPanel found = nullptr;
  ((found = panel == kPanels ? pack_full_panel<kPanels> : found), ...);
  return found;
}

/// Lays rows x depths of a matrix out as panels of `panel` rows, the rows of a panel side by side.
void pack_panels(const float* data, std::int64_t row_stride, std::int64_t depth_stride,
                 std::int64_t rows, std::int64_t depths, std::int64_t panel, float* out) {
  const PackFullPanel pack_full =
      pack_full_panel_of<6, 8, 12, 16, 32>(panel);  // sizes of the kernels
  for (std::int64_t first = 0; first < rows; first += panel, out += panel * depths) {
    const std::int64_t real = std::min(panel, rows - first);
    const float* const from = data + first * row_stride;
    if (real == panel && pack_full != nullptr) {
      pack_full(from, row_stride, depth_stride, depths, out);
    } else {
      pack_padded_panel(from, row_stride, depth_stride, real, panel, depths, out);
    }
  }
}

/// Packs the part of `matrix` that starts at (row, column); rows become the panels' rows.
void pack_block(const MatrixView& matrix, std::int64_t row, std::int64_t column, std::int64_t rows,
                std::int64_t depths, std::int64_t panel, const Kernels& kernel, Rounding rounding,
                std::vector<float>& out) {
  const std::int64_t size = (rows + panel - 1) / panel * panel * depths;
  out.resize(std::max(out.size(), static_cast<std::size_t>(size)));
  const float* from = matrix.values + row * matrix.row_stride + column * matrix.column_stride;
  pack_panels(from, matrix.row_stride, matrix.column_stride, rows, depths, panel, out.data());
  if (rounding == Rounding::bfloat16) kernel.bfloat16(size, out.data(), out.data());
  if (rounding == Rounding::float16) kernel.float16(size, out.data(), out.data());
}

/// Multiplies one block of rows by all columns, for one block of the depth.
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
      // Tiles at the edges are computed beside c.
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
    pack_block(b.transposed(), 0, d, n, depths, kernel.columns, kernel, options.rounding,
               workspace.b);
    for (std::int64_t i = 0; i < m; i += kRowBlock) {
      const std::int64_t rows = std::min(kRowBlock, m - i);
      pack_block(a, i, d, rows, depths, kernel.rows, kernel, options.rounding, workspace.a);
      multiply_block(kernel, workspace, rows, n, depths, d == 0 && !options.accumulate,
                     c + i * stride, stride);
    }
  }
}

}  // namespace infeed::detail
