#if defined(__x86_64__)

#include <immintrin.h>

#include "kernel_loops.h"

namespace infeed::detail {
namespace {

struct Lanes256 {
  using Vector = __m256;
  static constexpr int kWidth = 8;
  static Vector load(const float* from) { return _mm256_loadu_ps(from); }
  static void store(float* to, Vector vector) { _mm256_storeu_ps(to, vector); }
  static Vector broadcast(float value) { return _mm256_set1_ps(value); }
  static Vector fma(Vector a, Vector b, Vector c) { return _mm256_fmadd_ps(a, b, c); }
};

}  // namespace

Kernels kernels_256() { return kernels_of<Lanes256, 6>(); }

}  // namespace infeed::detail

#endif
