#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include <infeed/communicator.h>
#include <infeed/device/tape.h>
#include <infeed/records/tensor_pool.h>

#include "train/ranks/replica_range.h"

namespace infeed::detail {

/// Gradients travel in pieces of so many bytes: the buckets of the cost model.
inline constexpr std::int64_t kBucketBytes = std::int64_t{32} << 20;

/// Part of tree_reduce()'s sum that one rank can add up alone: replicas [first, end), counted among
/// those that have the gradient.
struct TreeNode {
  std::size_t first = 0;
  std::size_t end = 0;
};

/// Returns the largest whole nodes of the tree over `leaves` replicas that lie in [begin, end).
std::vector<TreeNode> tree_nodes(std::size_t begin, std::size_t end, std::size_t leaves);

struct RankReduceOptions {
  std::int32_t replicas = 1;
  std::int64_t bucket_bytes = kBucketBytes;
  /// Memory of the sums and of what other ranks send, which the next step needs again: fresh pages
  /// took as long as the exchange.
  TensorPool pool = TensorPool();
};

/// True for each variable of which the replica has a gradient.
using HasGradient = std::vector<bool>;

/// Why: training on several ranks gives the weights of one process, bit for bit, so the sum over
/// the replicas must be added up in the same tree, wherever they run.
///
/// A rank adds up the whole nodes of the tree that its own replicas make, which changes no bit.
/// Then each rank gets its slice of all ranks' nodes, adds it up by the rest of the tree, and sends
/// the sum to all. Where replicas of a rank fill whole nodes (2, 4, 8, ... each) this moves as many
/// bytes as any all-reduce: twice the gradients, without this rank's slice.
///
/// `variables`: the same in each rank. `has`: one a replica of all ranks, known to all. `own`: one
/// a replica of this rank; its memory is used. The gradients that it returns share one memory of the
/// pool. Every rank calls it with the same purpose.
Gradients sum_of_ranks(Communicator& ranks, const RankReduceOptions& options,
                       std::span<const Variable> variables, std::span<const HasGradient> has,
                       std::span<Gradients> own, std::string_view purpose);

}  // namespace infeed::detail
