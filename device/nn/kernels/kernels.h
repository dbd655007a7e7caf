#pragma once

#include <cstdint>

#include <infeed/device/vector_width.h>

// The inner loops, compiled once for each instruction set (kernels_*.cc) and chosen when the
// program runs. All variants give the same bits:
// - the product's c[i][j] takes fma(a[i][k], b[k][j], c[i][j]) for k = 0, 1, 2, ... A fused
//   multiply-add is one correctly rounded operation, in hardware or in std::fma; vectors run across
//   j, so that their width changes no sum;
// - exp, tanh and erf are the same IEEE operations on every lane, none of them fused.

namespace infeed::detail {

struct Kernels {
  std::int64_t rows = 0;     ///< rows of a tile of the product
  std::int64_t columns = 0;  ///< columns of a tile
  /// c[rows][columns] = (accumulate ? c : 0) + a[k][rows]^T * b[k][columns]. Rows of c lie
  /// c_row_stride apart; a and b are packed.
  void (*product)(std::int64_t k, const float* a, const float* b, float* c,
                  std::int64_t c_row_stride, bool accumulate) = nullptr;
  // y[i] = f(x[i]); x and y may be the same.
  void (*exp)(std::int64_t count, const float* x, float* y) = nullptr;
  void (*tanh)(std::int64_t count, const float* x, float* y) = nullptr;
  void (*erf)(std::int64_t count, const float* x, float* y) = nullptr;
  // y[i] = x[i] rounded to nearest even.
  void (*bfloat16)(std::int64_t count, const float* x, float* y) = nullptr;
  void (*float16)(std::int64_t count, const float* x, float* y) = nullptr;
};

inline constexpr std::int64_t kTileRowsMax = 12;
inline constexpr std::int64_t kTileColumnsMax = 32;

const Kernels& kernels(VectorWidth width = VectorWidth::widest);

Kernels kernels_portable();
Kernels kernels_128();
Kernels kernels_256();
Kernels kernels_512();

}  // namespace infeed::detail
