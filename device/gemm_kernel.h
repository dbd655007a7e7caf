#pragma once

#include <cstdint>

// The inner kernel of gemm.cc, compiled once for each instruction set (gemm_kernel_*.cc). Those
// files include nothing else: an inline function of some header, compiled there for AVX2, could be
// the copy that the linker keeps for everybody.
//
// Order of the arithmetic, the same in every variant: c[i][j] starts at its old value and takes
// a[i][k] * b[k][j] for k = 0, 1, 2, ..., each product rounded, each sum rounded. Vectors run
// across j, so their width changes nothing; no multiply-add is fused (-ffp-contract=off).

namespace infeed::detail {

inline constexpr std::int64_t kGemmRows =
    6;  // 6 x 2 vectors of sums, 2 of b, 1 of a: 15 of 16 registers

/// tile[kGemmRows][columns] += a[k][kGemmRows]^T * b[k][columns]; all packed.
using GemmKernel = void (*)(std::int64_t k, const float* a, const float* b, float* tile);

void gemm_kernel_128(std::int64_t k, const float* a, const float* b, float* tile);  // 8 columns
void gemm_kernel_256(std::int64_t k, const float* a, const float* b, float* tile);  // 16 columns

namespace {  // each instruction set gets a copy of its own

template <typename Vector>
[[gnu::always_inline]] inline void gemm_tile(std::int64_t depth, const float* a, const float* b,
                                             float* tile) {
  constexpr std::int64_t kLanes = sizeof(Vector) / sizeof(float);
  Vector sums[kGemmRows][2];
  for (std::int64_t i = 0; i < kGemmRows; ++i) {
    __builtin_memcpy(&sums[i][0], tile + i * 2 * kLanes, sizeof(Vector));
    __builtin_memcpy(&sums[i][1], tile + i * 2 * kLanes + kLanes, sizeof(Vector));
  }
  for (std::int64_t k = 0; k < depth; ++k, a += kGemmRows, b += 2 * kLanes) {
    Vector b0;
    Vector b1;
    __builtin_memcpy(&b0, b, sizeof(Vector));
    __builtin_memcpy(&b1, b + kLanes, sizeof(Vector));
    for (std::int64_t i = 0; i < kGemmRows; ++i) {
      sums[i][0] += a[i] * b0;
      sums[i][1] += a[i] * b1;
    }
  }
  for (std::int64_t i = 0; i < kGemmRows; ++i) {
    __builtin_memcpy(tile + i * 2 * kLanes, &sums[i][0], sizeof(Vector));
    __builtin_memcpy(tile + i * 2 * kLanes + kLanes, &sums[i][1], sizeof(Vector));
  }
}

}  // namespace
}  // namespace infeed::detail
