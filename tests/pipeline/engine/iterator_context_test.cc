#include "engine/iterator_context.h"

#include <gtest/gtest.h>

#include <infeed/infeed.h>

namespace infeed::test {
namespace {

TEST(IteratorContext, KnowsItsExecutor) {
  const auto three = Executor::threads(3);
  IteratorContext given(IterateOptions{.executor = three});
  EXPECT_EQ(given.concurrency(), 3);
  EXPECT_FALSE(given.is_inline());
  EXPECT_EQ(&given.executor(), three.get());
  IteratorContext serial(IterateOptions{.executor = Executor::inline_()});
  EXPECT_EQ(serial.concurrency(), 0);
  EXPECT_TRUE(serial.is_inline());
  IteratorContext own(IterateOptions{});
  EXPECT_EQ(own.concurrency(), usable_cores());
  EXPECT_FALSE(own.is_inline());
}

TEST(IteratorContext, OpensWhatAllInnerDatasetsShareInOnePass) {
  const auto shuffled = range(3) | shuffle({.buffer = 2, .seed = 1});
  IteratorContext run(IterateOptions{});
  StageContext context{.run = run, .counters = nullptr};
  context.set_pass(5);
  context.inner.key = 77;
  const StageContext outside = run.shared_by_all(context);
  EXPECT_EQ(outside.epoch, 0U);
  EXPECT_EQ(outside.passes_opened, 0U);
  EXPECT_EQ(outside.inner.key, 77U);
  context.inner.outermost = shuffled.node().get();
  EXPECT_EQ(run.shared_by_all(context).inner.key, shuffled.node()->seeds()->seed);
}

}  // namespace
}  // namespace infeed::test
