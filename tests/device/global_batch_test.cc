#include "infeed/device/global_batch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <numeric>

#include <infeed/error.h>

namespace infeed {
namespace {

std::vector<std::int64_t> shares_of(std::int64_t examples, std::int32_t replicas) {
  std::vector<std::int64_t> shares;
  for (const auto& share : split_over_replicas({.examples = examples}, replicas)) {
    shares.push_back(share.examples);
  }
  return shares;
}

TEST(SplitOverReplicas, TheFirstOnesTakeTheRest) {
  EXPECT_THAT(shares_of(1024, 8), testing::Each(128));
  EXPECT_THAT(shares_of(10, 4), testing::ElementsAre(3, 3, 2, 2));
  EXPECT_THAT(shares_of(3, 8), testing::ElementsAre(1, 1, 1, 0, 0, 0, 0, 0));
  EXPECT_THAT(shares_of(0, 2), testing::ElementsAre(0, 0));
}

TEST(SplitOverReplicas, ColumnsAndBytesAreCutInOrderAndNothingIsLost) {
  std::vector<float> features(7 * 3);
  std::iota(features.begin(), features.end(), 0.0f);
  const std::vector<std::int32_t> labels = {0, 1, 2, 3, 4, 5, 6};
  auto owner = std::make_shared<int>(1);
  const GlobalBatch batch{.examples = 7,
                          .bytes = 101,
                          .features = {features.data(), 3},
                          .labels = labels,
                          .owner = owner};
  for (const std::int32_t replicas : {1, 2, 3, 4, 7, 9}) {
    std::int64_t examples = 0, bytes = 0;
    for (const ReplicaBatch& share : split_over_replicas(batch, replicas)) {
      ASSERT_EQ(static_cast<std::int64_t>(share.labels.size()), share.examples);
      for (std::int64_t i = 0; i < share.examples; ++i) {
        EXPECT_EQ(share.labels[static_cast<std::size_t>(i)], examples + i);
        EXPECT_EQ(share.features.float32[i * 3], static_cast<float>((examples + i) * 3));
      }
      EXPECT_EQ(share.owner, owner);
      examples += share.examples;
      bytes += share.bytes;
    }
    EXPECT_EQ(examples, 7);
    EXPECT_EQ(bytes, 101);
  }
}

TEST(SplitOverReplicas, WrongBatchesAreRefused) {
  EXPECT_THROW(split_over_replicas({.examples = 4}, 0), Error);
  EXPECT_THROW(split_over_replicas({.examples = -1}, 1), Error);
  const std::vector<std::int32_t> labels = {1, 2};
  try {
    split_over_replicas({.examples = 3, .labels = labels}, 2);
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.message(), "a batch of 3 examples has 2 labels; expected one an example");
  }
}

}  // namespace
}  // namespace infeed
