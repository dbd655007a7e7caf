#include "kernel_loops.h"
#include "kernels.h"

namespace infeed::detail {
namespace {

struct OneLane {
  using Vector = float;
  static constexpr int kWidth = 1;
  static Vector load(const float* from) { return *from; }
  static void store(float* to, Vector value) { *to = value; }
  static Vector broadcast(float value) { return value; }
  static Vector fma(Vector a, Vector b, Vector c) { return __builtin_fmaf(a, b, c); }
};

}  // namespace

Kernels kernels_portable() {
  return {.rows = 6,
          .columns = 2,
          .product = product_tile<OneLane, 6>,
          .exp = exp_all,
          .tanh = tanh_all,
          .erf = erf_all,
          .bfloat16 = bfloat16_all,
          .float16 = float16_all};
}

}  // namespace infeed::detail
