#include <gtest/gtest.h>

#include <infeed/pipeline/dataset.h>
#include <infeed/pipeline/range.h>

namespace infeed::test {
namespace {

TEST(DatasetAtStep, BeginsAtTheCheckpointOrAtTheStartAndPassesOverTheRest) {
  const auto dataset = range(10);
  const Node& node = *dataset.node();
  const IterateOptions fresh = detail::begin_at(node, 7, {});
  EXPECT_TRUE(fresh.trace);
  EXPECT_EQ(fresh.skip, 7U);
  EXPECT_EQ(fresh.epoch, 0U);
  EXPECT_EQ(detail::begin_at(node, 7, {.epoch = 3}).epoch, 3U);
  const Checkpoint checkpoint{.position = 5, .order_hash = 9, .signature = {}};
  for (const std::uint64_t step : {5U, 7U}) {
    const IterateOptions behind = detail::begin_at(node, step, {.resume = checkpoint});
    EXPECT_EQ(behind.skip, step - 5);
    EXPECT_EQ(behind.resume, checkpoint);
    EXPECT_FALSE(behind.epoch) << "it is the checkpoint's";
  }
  const IterateOptions before = detail::begin_at(node, 4, {.resume = checkpoint});
  EXPECT_EQ(before.skip, 0U);
  EXPECT_EQ(before.resume->position, 4U);
  EXPECT_EQ(before.resume->order_hash, 0U) << "that of the elements before isn't known";
}

TEST(DatasetAtStep, HasNoRowsBehindTheEnd) {
  auto iterator = range(1).iterate({.trace = true});
  EXPECT_TRUE(iterator.next());
  EXPECT_EQ(rows_of(iterator, 0).at(0).why(), "range makes its elements itself");
  EXPECT_FALSE(iterator.next());
  const auto rows = rows_of(iterator, 0);
  ASSERT_EQ(rows.size(), 1U);
  EXPECT_EQ(rows[0].why(), "the iteration is over");
}

}  // namespace
}  // namespace infeed::test
