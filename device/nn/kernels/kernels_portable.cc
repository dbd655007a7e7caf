#include "kernel_loops.h"

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

Kernels kernels_portable() { return kernels_of<OneLane, 6>(); }

}  // namespace infeed::detail
