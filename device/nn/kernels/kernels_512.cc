#if defined(__x86_64__)

#include <immintrin.h>

#include "kernel_loops.h"

namespace infeed::detail {
namespace {

struct Lanes512 {
  using Vector = __m512;
  static constexpr int kWidth = 16;
  static Vector load(const float* from) { return _mm512_loadu_ps(from); }
  static void store(float* to, Vector vector) { _mm512_storeu_ps(to, vector); }
  static Vector broadcast(float value) { return _mm512_set1_ps(value); }
  static Vector fma(Vector a, Vector b, Vector c) { return _mm512_fmadd_ps(a, b, c); }
};

}  // namespace

Kernels kernels_512() { return kernels_of<Lanes512, 12>(); }

}  // namespace infeed::detail

#endif
