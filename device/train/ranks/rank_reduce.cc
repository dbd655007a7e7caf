#include "train/ranks/rank_reduce.h"

#include <algorithm>
#include <bit>
#include <map>
#include <memory>
#include <utility>

#include <infeed/device/all_reduce.h>

#include "nn/variable_state.h"

namespace infeed::detail {
namespace {

using Replicas = std::vector<std::int32_t>;
using Floats = std::vector<float>;

std::size_t to_index(std::int64_t number) { return static_cast<std::size_t>(number); }

/// Items [begin, end).
struct Items {
  std::size_t begin = 0;
  std::size_t end = 0;
  std::size_t size() const { return end - begin; }
};

/// Returns the part of the items that a rank adds up.
Items share_of(const Items& items, std::size_t rank, std::size_t ranks) {
  return {items.begin + items.size() * rank / ranks,
          items.begin + items.size() * (rank + 1) / ranks};
}

/// Sums variables whose gradients the same replicas have.
class GroupSum {
 public:
  GroupSum(Communicator& ranks, const RankReduceOptions& options, Replicas replicas,
           std::vector<Variable> variables)
      : ranks_(ranks),
        own_(to_index(ranks.world().rank)),
        replicas_(std::move(replicas)),
        variables_(std::move(variables)),
        bucket_items_(std::max<std::size_t>(to_index(options.bucket_bytes) / sizeof(float), 1)) {
    const World world = ranks.world();
    for (int rank = 0; rank < world.size; ++rank) {
      const ReplicaRange range =
          replicas_of_rank(options.replicas, {.rank = rank, .size = world.size});
      const auto begin = std::ranges::lower_bound(replicas_, range.first) - replicas_.begin();
      const auto end = std::ranges::lower_bound(replicas_, range.end()) - replicas_.begin();
      nodes_.push_back(tree_nodes(to_index(begin), to_index(end), replicas_.size()));
    }
    for (const Variable& variable : variables_) items_ += to_index(variable.shape().items());
  }

  Gradients sum(std::span<Gradients> own, const ReplicaRange& range, std::string_view purpose) {
    std::vector<Floats> nodes = own_nodes(own, range);
    Floats sums(items_);
    for (std::size_t begin = 0; begin < items_; begin += bucket_items_) {
      add_up({begin, std::min(begin + bucket_items_, items_)}, nodes, sums, purpose);
    }
    Gradients gradients;
    std::size_t first = 0;
    for (const Variable& variable : variables_) {
      const std::size_t count = to_index(variable.shape().items());
      gradients.emplace_back(
          variable,
          Tensor::copy_of(variable.shape(), std::span<const float>(sums.data() + first, count)));
      first += count;
    }
    return gradients;
  }

 private:
  /// Returns the sums of this rank's whole nodes, all variables one behind the other.
  std::vector<Floats> own_nodes(std::span<Gradients> own, const ReplicaRange& range) {
    std::vector<Floats> nodes;
    for (const TreeNode& node : nodes_[own_]) {
      Floats& sums = nodes.emplace_back();
      sums.reserve(items_);
      for (const Variable& variable : variables_) {
        std::vector<float*> parts;
        for (std::size_t leaf = node.first; leaf < node.end; ++leaf) {
          Gradients& gradients = own[to_index(replicas_[leaf] - range.first)];
          const auto found = std::ranges::find(gradients, variable, &Gradients::value_type::first);
          parts.push_back(writable_values(found->second).data());
        }
        tree_reduce(parts, 0, variable.shape().items());
        sums.insert(sums.end(), parts.front(), parts.front() + variable.shape().items());
      }
    }
    return nodes;
  }

  /// Sums the items of one bucket over all ranks.
  void add_up(const Items& bucket, std::vector<Floats>& nodes, Floats& sums,
              std::string_view purpose) {
    const std::size_t count = nodes_.size();
    const Items mine = share_of(bucket, own_, count);
    std::vector<Floats> sent(count);
    std::vector<Floats> received(count);
    for (std::size_t rank = 0; rank < count; ++rank) {
      if (rank == own_) continue;
      const Items theirs = share_of(bucket, rank, count);
      for (const Floats& node : nodes) {
        sent[rank].insert(sent[rank].end(), node.begin() + std::ptrdiff_t(theirs.begin),
                          node.begin() + std::ptrdiff_t(theirs.end));
      }
      received[rank].resize(nodes_[rank].size() * mine.size());
    }
    exchange(sent, received, purpose);

    std::vector<float*> parts(replicas_.size(), nullptr);
    for (std::size_t rank = 0; rank < count; ++rank) {
      for (std::size_t i = 0; i < nodes_[rank].size(); ++i) {
        parts[nodes_[rank][i].first] =
            rank == own_ ? nodes[i].data() + mine.begin : received[rank].data() + i * mine.size();
      }
    }
    tree_reduce(parts, 0, static_cast<std::int64_t>(mine.size()));
    std::copy_n(parts.front(), mine.size(), sums.begin() + std::ptrdiff_t(mine.begin));

    std::vector<std::span<const std::byte>> outgoing(count);
    std::vector<std::span<std::byte>> incoming(count);
    for (std::size_t rank = 0; rank < count; ++rank) {
      if (rank == own_) continue;
      const Items theirs = share_of(bucket, rank, count);
      outgoing[rank] = std::as_bytes(std::span(sums).subspan(mine.begin, mine.size()));
      incoming[rank] = std::as_writable_bytes(std::span(sums).subspan(theirs.begin, theirs.size()));
    }
    ranks_.exchange(outgoing, incoming, purpose);
  }

  void exchange(const std::vector<Floats>& sent, std::vector<Floats>& received,
                std::string_view purpose) {
    std::vector<std::span<const std::byte>> outgoing;
    std::vector<std::span<std::byte>> incoming;
    for (const Floats& floats : sent) outgoing.push_back(std::as_bytes(std::span(floats)));
    for (Floats& floats : received) incoming.push_back(std::as_writable_bytes(std::span(floats)));
    ranks_.exchange(outgoing, incoming, purpose);
  }

  Communicator& ranks_;
  const std::size_t own_;
  const Replicas replicas_;  ///< those with these gradients, ascending
  const std::vector<Variable> variables_;
  const std::size_t bucket_items_;
  std::vector<std::vector<TreeNode>> nodes_;  ///< by rank
  std::size_t items_ = 0;
};

}  // namespace

std::vector<TreeNode> tree_nodes(std::size_t begin, std::size_t end, std::size_t leaves) {
  std::vector<TreeNode> nodes;
  while (begin < end) {
    // A node of size s begins at a multiple of s; the last one may be cut by the end of all.
    std::size_t size = std::bit_ceil(leaves);
    while (begin % size != 0 || std::min(begin + size, leaves) > end) size /= 2;
    nodes.push_back({begin, std::min(begin + size, leaves)});
    begin = nodes.back().end;
  }
  return nodes;
}

Gradients sum_of_ranks(Communicator& ranks, const RankReduceOptions& options,
                       std::span<const Variable> variables, std::span<const HasGradient> has,
                       std::span<Gradients> own, std::string_view purpose) {
  // Usually one group: all replicas with rows have gradients of all trainable variables.
  std::map<Replicas, std::vector<Variable>> groups;
  for (std::size_t variable = 0; variable < variables.size(); ++variable) {
    Replicas replicas;
    for (std::size_t replica = 0; replica < has.size(); ++replica) {
      if (has[replica][variable]) replicas.push_back(static_cast<std::int32_t>(replica));
    }
    if (!replicas.empty()) groups[std::move(replicas)].push_back(variables[variable]);
  }
  const ReplicaRange range = replicas_of_rank(options.replicas, ranks.world());
  Gradients sums;
  for (auto& [replicas, of_group] : groups) {
    std::ranges::move(
        GroupSum(ranks, options, replicas, std::move(of_group)).sum(own, range, purpose),
        std::back_inserter(sums));
  }
  return sums;
}

}  // namespace infeed::detail
