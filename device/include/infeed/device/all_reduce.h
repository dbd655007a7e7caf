#pragma once

#include <cstdint>
#include <span>

/// Why: float32 additions in another order round differently. If the sum of the replicas' gradients
/// depended on who finishes first, no two runs would be alike.
///
/// The order is a fixed binary tree over the replica numbers: first 0+1, 2+3, ...; then 0+2, 4+6,
/// ...; and so on. A replica without a partner waits for the next level. For 8 replicas:
/// ((0+1)+(2+3)) + ((4+5)+(6+7)).
namespace infeed {

/// Adds elements [begin, end) of all replicas' buffers into replicas[0]; the others hold partial
/// sums afterwards. Several threads may reduce different ranges: every element has its own tree.
/// Null: the replica is already in the partial sum of one before it, which is a whole branch of the
/// tree.
void tree_reduce(std::span<float* const> replicas, std::int64_t begin, std::int64_t end);

}  // namespace infeed
