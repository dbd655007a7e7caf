#include "infeed/device/all_reduce.h"

#include <cstddef>

namespace infeed {

void tree_reduce(std::span<float* const> replicas, std::int64_t begin, std::int64_t end) {
  for (std::size_t stride = 1; stride < replicas.size(); stride *= 2) {
    for (std::size_t r = 0; r + stride < replicas.size(); r += 2 * stride) {
      float* __restrict sum = replicas[r];
      const float* __restrict other = replicas[r + stride];
      if (sum == nullptr || other == nullptr) continue;
      for (std::int64_t i = begin; i < end; ++i) sum[i] += other[i];
    }
  }
}

}  // namespace infeed
