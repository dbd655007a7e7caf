#if defined(__x86_64__)

#include <immintrin.h>

#include "kernel_loops.h"

namespace infeed::detail {
namespace {

struct Lanes128 {
  using Vector = __m128;
  static constexpr int kWidth = 4;
  static Vector load(const float* from) { return _mm_loadu_ps(from); }
  static void store(float* to, Vector vector) { _mm_storeu_ps(to, vector); }
  static Vector broadcast(float value) { return _mm_set1_ps(value); }
  static Vector fma(Vector a, Vector b, Vector c) { return _mm_fmadd_ps(a, b, c); }
};

}  // namespace

Kernels kernels_128() { return kernels_of<Lanes128, 6>(); }

}  // namespace infeed::detail

#endif
