#include "engine/threads/thread_budget.h"

#include <gtest/gtest.h>
#include <utility>

namespace infeed::test {
namespace {

TEST(ThreadBudget, KeepsOneForThePoolUntilItIsThere) {
  detail::ThreadBudget budget(3);
  detail::ThreadShare first(budget);
  EXPECT_EQ(first.count(), 1);
  detail::ThreadShare second(budget);
  EXPECT_EQ(second.count(), 1);
  const detail::ThreadShare third(budget);
  EXPECT_EQ(third.count(), 0);
  EXPECT_EQ(budget.take_for_pool(8), 1);
  EXPECT_EQ(second.grow(4), 1);
}

TEST(ThreadBudget, GrowsByHalfOfWhatIsLeftAndGivesBack) {
  detail::ThreadBudget budget(12);
  EXPECT_EQ(budget.take_for_pool(4), 4);
  detail::ThreadShare first(budget);
  EXPECT_EQ(first.grow(16), 5);  // 1, and half of 7
  {
    detail::ThreadShare second(budget);
    EXPECT_EQ(second.grow(16), 2);
  }
  EXPECT_EQ(first.grow(7), 7);
}

TEST(ThreadBudget, GrowsByHalfOfWhatThePoolLeaves) {
  detail::ThreadBudget budget(4);
  detail::ThreadShare share(budget);
  EXPECT_EQ(share.count(), 1);
  EXPECT_EQ(share.grow(1), 1) << "it has that";
  EXPECT_EQ(share.grow(16), 2) << "half of two: one is the pool's";
  EXPECT_EQ(share.grow(16), 3);
  EXPECT_EQ(share.grow(16), 3) << "the last one is the pool's";
  EXPECT_EQ(budget.take_for_pool(8), 1);
  EXPECT_EQ(share.grow(16), 3);
  detail::ThreadBudget of_five(5);
  EXPECT_EQ(of_five.take_for_pool(8), 3);
  const detail::ThreadShare unwanted(of_five, false);
  EXPECT_EQ(unwanted.count(), 0);
}

TEST(ThreadBudget, GrowsByASingleThread) {
  for (const int limit : {4, 0}) {
    detail::ThreadBudget budget(limit);
    detail::ThreadShare share(budget);
    EXPECT_EQ(share.count(), 1) << limit;
    EXPECT_EQ(share.grow(2), 2) << limit;
  }
}

TEST(ThreadBudget, GivesAPoolAtLeastOneThread) {
  detail::ThreadBudget budget(1);
  EXPECT_EQ(budget.take_for_pool(8), 1);
  EXPECT_EQ(budget.take_for_pool(8), 1) << "of a pool whose first thread didn't come";
  detail::ThreadShare share(budget);
  EXPECT_EQ(share.count(), 0);
  EXPECT_EQ(share.grow(16), 0);
}

TEST(ThreadBudget, WithoutALimitGivesAll) {
  detail::ThreadBudget budget(0);
  EXPECT_EQ(budget.take_for_pool(64), 64);
  detail::ThreadShare share(budget);
  EXPECT_EQ(share.grow(100), 100);
}

TEST(ThreadBudget, GivesAPoolHalfOfWhatIsThere) {
  detail::ThreadBudget budget(4);
  EXPECT_EQ(budget.take_for_pool(8), 2);
  const detail::ThreadShare first(budget);
  EXPECT_EQ(first.count(), 1);
  const detail::ThreadShare last(budget);
  EXPECT_EQ(last.count(), 1) << "none is kept for a pool that is there";
  const detail::ThreadShare none(budget);
  EXPECT_EQ(none.count(), 0);
}

TEST(ThreadBudget, TakesNothingFromAStageThatAsksForLess) {
  for (const int limit : {9, 0}) {
    detail::ThreadBudget budget(limit);
    detail::ThreadShare share(budget);
    EXPECT_EQ(share.grow(4), 4) << limit;
    EXPECT_EQ(share.grow(2), 4) << limit;
    EXPECT_EQ(share.grow(0), 4) << limit;
  }
}

/// A share that is moved from has nothing to give back.
TEST(ThreadBudget, GetsEachThreadBackOnce) {
  detail::ThreadBudget budget(4);
  EXPECT_EQ(budget.take_for_pool(1), 1);
  {
    detail::ThreadShare share(budget);
    EXPECT_EQ(share.grow(2), 2);
    const detail::ThreadShare moved(std::move(share));
    EXPECT_EQ(moved.count(), 2);
  }
  detail::ThreadShare share(budget);
  EXPECT_EQ(share.grow(9), 2) << "half of the two behind its first";
}

}  // namespace
}  // namespace infeed::test
