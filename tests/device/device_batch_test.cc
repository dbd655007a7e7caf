#include "infeed/device/device_batch.h"

#include <gmock/gmock.h>
#include <numeric>

#include "device/error_message.h"

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
  const ColumnBatch columns(
      {{"image", Column::dense(Tensor::copy_of<float>({7, 3}, features))},
       {"label", Column::dense(Tensor::copy_of<std::int32_t>({7}, {0, 1, 2, 3, 4, 5, 6}))}});
  DeviceBatch batch = device_batch(columns);
  EXPECT_EQ(batch.examples, 7);
  EXPECT_EQ(batch.bytes, 7 * (3 * 4 + 4));
  batch.bytes = 101;  // not divisible by the shares
  for (const std::int32_t replicas : {1, 2, 3, 4, 7, 9}) {
    std::int64_t examples = 0, bytes = 0;
    for (const DeviceBatch& share : split_over_replicas(batch, replicas)) {
      EXPECT_EQ(share.columns, columns.slice(examples, share.examples));
      if (share.examples > 0) {
        EXPECT_EQ(share.columns.column("image").values().data(),
                  columns.column("image").values().data() + examples * 12)
            << "nothing is copied";
      }
      examples += share.examples;
      bytes += share.bytes;
    }
    EXPECT_EQ(examples, 7);
    EXPECT_EQ(bytes, 101);
  }
}

TEST(SplitOverReplicas, WrongBatchesAreRefused) {
  const auto message_of = [](const DeviceBatch& batch, std::int32_t replicas) {
    return error_message([&] { split_over_replicas(batch, replicas); });
  };
  EXPECT_EQ(message_of({.examples = 4}, 0), "cannot split 4 examples over 0 replicas");
  EXPECT_EQ(message_of({.examples = -1}, 1), "cannot split -1 examples over 1 replicas");
  const Column labels = Column::dense(Tensor::copy_of<std::int32_t>({2}, {1, 2}));
  EXPECT_EQ(message_of({.examples = 3, .columns = ColumnBatch({{"label", labels}})}, 2),
            "a batch of 3 examples has columns of 2 rows; expected one an example");
}

}  // namespace
}  // namespace infeed
