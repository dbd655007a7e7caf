#pragma once

#include <cstdint>
#include <span>

/// Why: the sum of the replicas' gradients must not depend on who finishes first, or no two runs
/// would be alike: float32 additions in another order round differently.
///
/// The order is a fixed binary tree over the replica numbers: first 0+1, 2+3, ...; then 0+2, 4+6,
/// ...; and so on; a replica without a partner waits for the next level. For 8 replicas:
/// ((0+1)+(2+3)) + ((4+5)+(6+7)).
namespace infeed {

/// Adds elements [begin, end) of all replicas' buffers into replicas[0]; the others hold partial
/// sums afterwards. Different ranges may be reduced by different threads: every element has its own
/// tree.
void tree_reduce(std::span<float* const> replicas, std::int64_t begin, std::int64_t end);

}  // namespace infeed
