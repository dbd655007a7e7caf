#include "gemm_kernel.h"

namespace infeed::detail {

using Vector128 = float __attribute__((vector_size(16)));

void gemm_kernel_128(std::int64_t k, const float* a, const float* b, float* tile) {
  gemm_tile<Vector128>(k, a, b, tile);
}

}  // namespace infeed::detail
