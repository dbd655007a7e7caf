#include "gemm_kernel.h"

// Compiled for AVX2 where the target has it (see CMakeLists.txt); called only after asking the CPU.

namespace infeed::detail {

using Vector256 = float __attribute__((vector_size(32)));

void gemm_kernel_256(std::int64_t k, const float* a, const float* b, float* tile) {
  gemm_tile<Vector256>(k, a, b, tile);
}

}  // namespace infeed::detail
