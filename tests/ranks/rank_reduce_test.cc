#include "train/ranks/rank_reduce.h"

#include <algorithm>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <random>

#include <infeed/device/all_reduce.h>

#include "seeded_random.h"
#include "world/local_world.h"

namespace infeed::detail {
namespace {

/// Gradients of a few variables for each replica; some replicas lack some of them.
struct Drawn {
  std::vector<Variable> variables;
  std::vector<HasGradient> has;
  std::vector<std::vector<std::vector<float>>> values;  ///< by replica and variable
};

Drawn draw(std::int32_t replicas, bool with_gaps, std::mt19937_64& random) {
  Drawn drawn;
  Scope scope;
  for (const std::int64_t items : {7, 1, 12}) {
    drawn.variables.push_back(
        scope.variable(fmt::format("v{}", items), Shape({items}), Initializer::zeros));
  }
  std::uniform_real_distribution<float> value(-1, 1);
  for (std::int32_t replica = 0; replica < replicas; ++replica) {
    HasGradient has;
    auto& of_replica = drawn.values.emplace_back();
    for (const Variable& variable : drawn.variables) {
      has.push_back(!with_gaps || random() % 4 != 0);
      auto& values = of_replica.emplace_back(static_cast<std::size_t>(variable.shape().items()));
      // Numbers of very different size: another order gives other bits.
      for (float& v : values) v = value(random) * static_cast<float>(1 << random() % 20);
    }
    drawn.has.push_back(std::move(has));
  }
  return drawn;
}

/// Returns the sums of one process, by variable; nothing where no replica has a gradient.
std::vector<std::vector<float>> sums_of_one_process(Drawn drawn) {
  std::vector<std::vector<float>> sums;
  for (std::size_t variable = 0; variable < drawn.variables.size(); ++variable) {
    std::vector<float*> parts;
    for (std::size_t replica = 0; replica < drawn.has.size(); ++replica) {
      if (drawn.has[replica][variable]) parts.push_back(drawn.values[replica][variable].data());
    }
    const std::int64_t items = drawn.variables[variable].shape().items();
    tree_reduce(parts, 0, items);
    sums.emplace_back();
    if (!parts.empty()) sums.back().assign(parts.front(), parts.front() + items);
  }
  return sums;
}

std::vector<std::vector<float>> by_variable(const Gradients& gradients, const Drawn& drawn) {
  std::vector<std::vector<float>> values(drawn.variables.size());
  for (const auto& [variable, gradient] : gradients) {
    const auto found = std::ranges::find(drawn.variables, variable);
    const auto span = gradient.values<float>();
    values[static_cast<std::size_t>(found - drawn.variables.begin())].assign(span.begin(),
                                                                             span.end());
  }
  return values;
}

/// Returns what each rank gets.
std::vector<std::vector<std::vector<float>>> sums_of_ranks(const Drawn& drawn, int ranks,
                                                           std::int64_t bucket_bytes) {
  std::vector<std::vector<std::vector<float>>> sums(static_cast<std::size_t>(ranks));
  test::LocalWorld world(ranks);
  const auto errors = world.run([&](Communicator& communicator) {
    const auto replicas = static_cast<std::int32_t>(drawn.has.size());
    const ReplicaRange range = replicas_of_rank(replicas, communicator.world());
    std::vector<Gradients> own;
    for (std::int32_t replica = range.first; replica < range.end(); ++replica) {
      const auto r = static_cast<std::size_t>(replica);
      auto& gradients = own.emplace_back();
      for (std::size_t v = drawn.variables.size(); v-- > 0;) {
        if (!drawn.has[r][v]) continue;
        gradients.emplace_back(drawn.variables[v],
                               Tensor::copy_of(drawn.variables[v].shape(),
                                               std::span<const float>(drawn.values[r][v])));
      }
    }
    const Gradients sum =
        sum_of_ranks(communicator, {.replicas = replicas, .bucket_bytes = bucket_bytes},
                     drawn.variables, drawn.has, own, "a test");
    sums[static_cast<std::size_t>(communicator.world().rank)] = by_variable(sum, drawn);
  });
  for (const std::string& error : errors) EXPECT_EQ(error, "");
  return sums;
}

TEST(RankReduce, GivesTheBitsOfOneProcess) {
  test::SeededRandom random;
  for (std::int32_t replicas = 1; replicas <= 11; ++replicas) {
    for (const bool with_gaps : {false, true}) {
      const Drawn drawn = draw(replicas, with_gaps, random);
      const auto expected = sums_of_one_process(drawn);
      for (int ranks = 1; ranks <= std::min(replicas, 5); ++ranks) {
        const auto bucket_bytes = static_cast<std::int64_t>(4 + random() % 90);
        const auto sums = sums_of_ranks(drawn, ranks, bucket_bytes);
        for (const auto& of_rank : sums) {
          ASSERT_EQ(of_rank, expected) << replicas << " replicas on " << ranks
                                       << " ranks, buckets of " << bucket_bytes << " bytes";
        }
      }
    }
  }
}

TEST(RankReduce, AnotherOrderWouldGiveOtherBits) {
  test::SeededRandom random;
  const Drawn drawn = draw(8, false, random);
  Drawn turned = drawn;
  std::rotate(turned.values.begin(), turned.values.begin() + 3, turned.values.end());
  EXPECT_NE(sums_of_one_process(turned), sums_of_one_process(drawn));
}

std::string text_of(const std::vector<TreeNode>& nodes) {
  std::string text;
  for (const TreeNode& node : nodes) text += fmt::format("{}-{} ", node.first, node.end - 1);
  return text;
}

TEST(RankReduce, ARankAddsUpWholeNodesOfTheTree) {
  EXPECT_EQ(text_of(tree_nodes(0, 8, 8)), "0-7 ");
  EXPECT_EQ(text_of(tree_nodes(4, 8, 8)), "4-7 ");
  EXPECT_EQ(text_of(tree_nodes(0, 3, 8)), "0-1 2-2 ");
  EXPECT_EQ(text_of(tree_nodes(3, 6, 8)), "3-3 4-5 ");
  EXPECT_EQ(text_of(tree_nodes(4, 6, 6)), "4-5 ");  // the tree ends there
  EXPECT_EQ(text_of(tree_nodes(4, 5, 5)), "4-4 ");
  EXPECT_EQ(text_of(tree_nodes(2, 2, 5)), "");
}

TEST(RankReduce, TheFirstRanksHaveOneReplicaMore) {
  std::vector<std::int32_t> counts;
  std::int32_t next = 0;
  for (int rank = 0; rank < 3; ++rank) {
    const ReplicaRange range = replicas_of_rank(8, {.rank = rank, .size = 3});
    EXPECT_EQ(range.first, next);
    next = range.end();
    counts.push_back(range.count);
  }
  EXPECT_EQ(next, 8);
  EXPECT_THAT(counts, testing::ElementsAre(3, 3, 2));
}

}  // namespace
}  // namespace infeed::detail
