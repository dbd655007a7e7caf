#include "train/ranks/rank_reduce.h"

#include <algorithm>
#include <bit>
#include <map>
#include <utility>

#include <infeed/device/all_reduce.h>

#include "nn/variable_state.h"

namespace infeed::detail {
namespace {

using Replicas = std::vector<std::int32_t>;

std::size_t to_index(std::int64_t number) { return static_cast<std::size_t>(number); }

/// Items [begin, end).
struct Items {
  std::size_t begin = 0;
  std::size_t end = 0;

  std::size_t size() const { return end > begin ? end - begin : 0; }
  /// Returns these items of values whose first is item `first`.
  std::span<float> of(std::span<float> values, std::size_t first = 0) const {
    return values.subspan(begin - first, size());
  }
};

/// Returns the part of the items that a rank adds up.
Items share_of(const Items& items, std::size_t rank, std::size_t ranks) {
  return {items.begin + items.size() * rank / ranks,
          items.begin + items.size() * (rank + 1) / ranks};
}

/// Adds up as tree_reduce() does, but into `sum`: so what is sent next lies in one piece without a
/// further copy. The parts hold partial sums afterwards. Null: as there.
void tree_sum(std::span<float* const> parts, std::span<float> sum) {
  const std::size_t half = parts.size() < 2 ? 0 : std::bit_ceil(parts.size()) / 2;
  const float* __restrict const first = parts.front();
  const float* __restrict const second = half == 0 ? nullptr : parts[half];
  float* __restrict const to = sum.data();
  constexpr std::size_t kBlockItems = 2048;  // a few parts of it stay in a core's cache
  for (std::size_t begin = 0; begin < sum.size(); begin += kBlockItems) {
    const std::size_t end = std::min(begin + kBlockItems, sum.size());
    tree_reduce(parts.first(half), static_cast<std::int64_t>(begin),
                static_cast<std::int64_t>(end));
    tree_reduce(parts.subspan(half), static_cast<std::int64_t>(begin),
                static_cast<std::int64_t>(end));
    if (second == nullptr) {
      std::copy(first + begin, first + end, to + begin);
    } else {
      for (std::size_t i = begin; i < end; ++i) to[i] = first[i] + second[i];
    }
  }
}

/// Sums variables whose gradients the same replicas have. Items are counted through all of them, one
/// behind the other.
class GroupSum {
 public:
  GroupSum(Communicator& ranks, const RankReduceOptions& options, Replicas replicas,
           std::vector<Variable> variables)
      : ranks_(ranks),
        own_(to_index(ranks.world().rank)),
        pool_(options.pool),
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
    Tensor sums = floats(items_);
    for (std::size_t begin = 0; begin < items_; begin += bucket_items_) {
      const Items bucket{begin, std::min(begin + bucket_items_, items_)};
      add_up(bucket, own_nodes(bucket, own, range), sums.writable<float>(), purpose);
    }
    Gradients gradients;
    std::int64_t first = 0;
    for (const Variable& variable : variables_) {
      const std::int64_t count = variable.shape().items();
      gradients.emplace_back(variable, sums.slice(first, count).reshaped(variable.shape()));
      first += count;
    }
    return gradients;
  }

 private:
  Tensor floats(std::size_t count) const {
    return {DType::float32, Shape({static_cast<std::int64_t>(count)}), pool_};
  }

  /// Returns a bucket of this rank's whole nodes, one node behind the other.
  Tensor own_nodes(const Items& bucket, std::span<Gradients> own, const ReplicaRange& range) const {
    Tensor sums = floats(nodes_[own_].size() * bucket.size());
    std::span<float> left = sums.writable<float>();
    std::vector<float*> parts;
    for (const TreeNode& node : nodes_[own_]) {
      Items of_variable;
      for (const Variable& variable : variables_) {
        of_variable = {of_variable.end, of_variable.end + to_index(variable.shape().items())};
        const Items both{std::max(bucket.begin, of_variable.begin),
                         std::min(bucket.end, of_variable.end)};
        if (both.size() == 0) continue;
        parts.clear();
        for (std::size_t leaf = node.first; leaf < node.end; ++leaf) {
          Gradients& gradients = own[to_index(replicas_[leaf] - range.first)];
          const auto found = std::ranges::find(gradients, variable, &Gradients::value_type::first);
          const std::span<float> values = writable_values(found->second);
          parts.push_back(both.of(values, of_variable.begin).data());
        }
        tree_sum(parts, left.first(both.size()));
        left = left.subspan(both.size());
      }
    }
    return sums;
  }

  /// Sums the items of one bucket over all ranks, of which `nodes` are this rank's.
  void add_up(const Items& bucket, Tensor nodes, std::span<float> sums, std::string_view purpose) {
    const std::size_t ranks = nodes_.size();
    const Items mine = share_of(bucket, own_, ranks);
    std::vector<float*> parts(replicas_.size(), nullptr);
    const Tensor received = exchange_nodes(bucket, nodes.writable<float>(), parts, purpose);
    tree_sum(parts, mine.of(sums));

    Sent sent(ranks);
    for (std::size_t rank = 0; rank < ranks; ++rank) {
      if (rank == own_) continue;
      sent.outgoing[rank] = std::as_bytes(mine.of(sums));
      sent.incoming[rank] = std::as_writable_bytes(share_of(bucket, rank, ranks).of(sums));
    }
    ranks_.exchange(sent.outgoing, sent.incoming, purpose);
  }

  /// Gives each rank its share of this rank's nodes, and points the parts at this rank's share of all
  /// nodes. Returns the memory of those of other ranks.
  Tensor exchange_nodes(const Items& bucket, std::span<float> own, std::span<float*> parts,
                        std::string_view purpose) {
    const std::size_t ranks = nodes_.size();
    const Items mine = share_of(bucket, own_, ranks);
    std::size_t nodes = 0;
    std::size_t rounds = 0;  // one for each node of the rank that has most of them, usually one
    for (const std::vector<TreeNode>& of_rank : nodes_) {
      nodes += of_rank.size();
      rounds = std::max(rounds, of_rank.size());
    }
    Tensor received = floats((nodes - nodes_[own_].size()) * mine.size());
    std::span<float> free = received.writable<float>();
    for (std::size_t i = 0; i < rounds; ++i) {
      Sent sent(ranks);
      const bool has_own = i < nodes_[own_].size();
      if (has_own) {
        parts[nodes_[own_][i].first] = mine.of(own, bucket.begin).data();
      }
      for (std::size_t rank = 0; rank < ranks; ++rank) {
        if (rank == own_) continue;
        if (has_own) {
          sent.outgoing[rank] = std::as_bytes(share_of(bucket, rank, ranks).of(own, bucket.begin));
        }
        if (i >= nodes_[rank].size()) continue;
        parts[nodes_[rank][i].first] = free.data();
        sent.incoming[rank] = std::as_writable_bytes(free.first(mine.size()));
        free = free.subspan(mine.size());
      }
      ranks_.exchange(sent.outgoing, sent.incoming, purpose);
      if (has_own) own = own.subspan(bucket.size());
    }
    return received;
  }

  /// The spans that an exchange takes, by rank.
  struct Sent {
    explicit Sent(std::size_t ranks) : outgoing(ranks), incoming(ranks) {}
    std::vector<std::span<const std::byte>> outgoing;
    std::vector<std::span<std::byte>> incoming;
  };

  Communicator& ranks_;
  const std::size_t own_;
  const TensorPool pool_;
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
