#include <chrono>
#include <cstddef>
#include <cstdint>
#include <vector>

#include <infeed/pipeline/chunk.h>

#include "engine/work/chunk_queue.h"
#include "matchers.h"
#include "pipeline/suite/queue_alone.h"

// How much the queue behind prefetch pulls, joins and holds. The input waits for the test, so nothing
// depends on which thread is quicker.
namespace infeed::test {
namespace {

using detail::QueueLimits;
using ::testing::Each;

TEST(ChunkQueue, PullsWhatThereIsRoomForAndThenOneElement) {
  NumberQueue alone;
  alone.begin(kFour);
  alone.queue->start();
  alone.input.wait_for_asks(2);
  EXPECT_THAT(alone.input.asks(), ElementsAre(4U, 1U));
  EXPECT_EQ(alone.counters.buffered.elements, 4U);
  EXPECT_EQ(alone.counters.buffered.bytes, 32U);
  EXPECT_EQ(alone.counters.queue_max.elements, 4U);
  EXPECT_EQ(alone.popped(), 4U);
  EXPECT_EQ(alone.chunk.held().bytes(), 32U);
  alone.expect_the_rest();
  EXPECT_EQ(alone.counters.buffered.elements, 0U);
  EXPECT_EQ(alone.counters.buffered.bytes, 0U);
  EXPECT_EQ(alone.queue->pop(alone.chunk), Pull::end);
  EXPECT_EQ(alone.run.memory().in_use_bytes(), 0U) << "no memory is kept for a pull that gave none";
}

TEST(ChunkQueue, JoinsSmallChunksUpToAnError) {
  NumberQueue alone;
  alone.input.script = {{1}, {1}, {1, true}, {2}};
  alone.input.allow(4);
  alone.begin(kMany);
  alone.queue->start();
  alone.input.wait_for_asks(5);
  EXPECT_EQ(alone.counters.buffered.elements, 5U);
  EXPECT_EQ(alone.popped(), 3U);
  EXPECT_TRUE(alone.chunk.has_error());
  EXPECT_EQ(alone.chunk.held().bytes(), 16U);
  EXPECT_EQ(alone.counters.buffered.elements, 2U);
  EXPECT_EQ(alone.counters.buffered.bytes, 16U);
  EXPECT_EQ(alone.popped(), 2U);
  EXPECT_EQ(alone.chunk.values<std::int64_t>()[0], 2);
}

TEST(ChunkQueue, JoinsNoChunksThatOwnMuch) {
  QueueOf<std::vector<std::int64_t>> alone;
  alone.input.make = [](std::int64_t number) {
    return std::vector<std::int64_t>(number < 2 ? 5000 : 10);
  };
  alone.input.script = {{1}, {1}, {1}};
  alone.input.allow(3);
  alone.begin(kMany);
  alone.queue->start();
  alone.input.wait_for_asks(4);
  EXPECT_EQ(alone.popped(), 1U);
  EXPECT_EQ(alone.popped(), 2U);
}

TEST(ChunkQueue, JoinsChunksThatFillOneExactly) {
  NumberQueue alone;
  alone.input.left = 2000;
  alone.input.script = {{kChunkElementsMax - 24}, {24}, {1}};
  alone.input.allow(3);
  alone.begin(kMany);
  alone.queue->start();
  alone.input.wait_for_asks(4);
  EXPECT_EQ(alone.popped(), kChunkElementsMax);
  EXPECT_EQ(alone.popped(), 1U);
}

TEST(ChunkQueue, JoinsChunksThatOwn64KiBTogether) {
  VectorQueue alone({4093, 4093, 0});  // 32,768 bytes each, and 24
  alone.begin_with(kMany, {{1}, {1}, {1}});
  alone.input.wait_for_asks(4);
  EXPECT_EQ(alone.popped(), 2U);
  EXPECT_EQ(alone.chunk.held().bytes(), 65'536U);
  EXPECT_EQ(alone.popped(), 1U);
}

TEST(ChunkQueue, KeepsAChunkInHandThatNeitherBoundAdmits) {
  VectorQueue alone({47, 47, 35});  // 400, 400 and 304 bytes
  alone.begin_with({.elements_max = 2, .bytes_max = 1000, .adaptive = false}, {{2}, {1}});
  alone.wait_until_in_use(1104);
  EXPECT_EQ(alone.popped(), 2U);
  EXPECT_EQ(alone.counters.buffered.elements, 1U) << "now there is room";
  EXPECT_EQ(alone.counters.buffered.bytes, 304U);
}

TEST(ChunkQueue, TakesTheChunkInHandOnceItIsHalfEmpty) {
  constexpr QueueLimits kLimits{.elements_max = 4, .bytes_max = 400, .adaptive = false};
  {
    VectorQueue alone({5000});  // 40,024 bytes each, too many to join
    alone.begin_with(kLimits, {{2}, {2}, {1}});
    alone.wait_until_in_use(5 * 40'024);
    EXPECT_EQ(alone.popped(), 2U);
    EXPECT_EQ(alone.counters.buffered.elements, 3U);
  }
  VectorQueue alone({5000});
  alone.begin_with(kLimits, {{1}, {3}, {1}});
  alone.wait_until_in_use(5 * 40'024);
  EXPECT_EQ(alone.popped(), 1U);
  EXPECT_EQ(alone.counters.buffered.elements, 3U) << "there is room, but hand-overs are dear";
}

/// Each error ends its chunk, so it keeps the memory of a whole one.
TEST(ChunkQueue, ErrorsFillItAsMuchAsTheirChunksDo) {
  NumberQueue alone;
  alone.input.script.assign(20, {1, true});
  alone.begin(kFour);
  alone.queue->start();
  alone.input.wait_for_asks(5);
  EXPECT_GE(alone.counters.buffered.bytes, 4 * chunk_capacity(type_info<std::int64_t>()) * 8);
  for (int i = 0; i < 20; ++i) {
    EXPECT_LE(alone.counters.buffered.elements, 4U);
    EXPECT_EQ(alone.popped(), 1U);
    EXPECT_TRUE(alone.chunk.has_error());
    EXPECT_EQ(alone.chunk.held().bytes(), 0U) << "it isn't the queue's any more";
  }
  EXPECT_EQ(alone.queue->pop(alone.chunk), Pull::end);
  EXPECT_EQ(alone.counters.buffered.bytes, 0U);
  EXPECT_EQ(alone.run.memory().in_use_bytes(), 0U);
}

/// Elements that the iterator's consumer won't ask for are pulled only if somebody waits for them.
TEST(ChunkQueue, PullsNoFurtherThanTheConsumerHasSaid) {
  NumberQueue alone;
  alone.run.set_elements_wanted(5);
  alone.input.script = {{2}, {1, true}};
  alone.begin(kMany);
  alone.queue->start();
  alone.input.wait_for_asks(3);
  std::size_t taken = 0;
  while (taken < 5) taken += alone.popped();
  for (std::size_t more = 1; more <= 3; ++more) {
    EXPECT_EQ(alone.popped(), 1U);
    EXPECT_EQ(alone.input.asks().size(), 3 + more);
  }
  EXPECT_THAT(alone.input.asks(), ElementsAre(5U, 3U, 2U, 1U, 1U, 1U));
}

TEST(ChunkQueue, PullsOneElementWhereThereIsRoomForNoMore) {
  NumberQueue alone(100);  // 25 bytes for what is kept ready
  alone.begin(kFour);
  alone.queue->start();
  alone.input.wait_for_asks(3);
  EXPECT_THAT(alone.input.asks(), ElementsAre(1U, 1U, 1U));
  alone.expect_the_rest();
}

TEST(ChunkQueue, PullsAnElementThatIsWaitedForWhereThereIsNoRoom) {
  NumberQueue alone(20);  // 5 bytes
  alone.begin(kFour);
  alone.queue->start();
  for (int i = 0; i < 20; ++i) EXPECT_EQ(alone.popped(), 1U) << i;
  EXPECT_THAT(alone.input.asks(), Each(1U));
}

TEST(ChunkQueue, PullsAnElementThatIsToBeReadyWhereThereIsNoRoom) {
  const auto some_day = std::chrono::steady_clock::now() + std::chrono::hours(1);
  NumberQueue alone(20);
  alone.begin(kFour);
  alone.queue->start();
  for (int i = 0; i < 20; ++i) {
    EXPECT_TRUE(alone.queue->wait_until_ready(some_day, {}));
    EXPECT_EQ(alone.popped(), 1U) << i;
  }
}

TEST(ChunkQueue, HoldsNothingOnceItIsGone) {
  NumberQueue alone;
  alone.begin(kFour);
  alone.queue->start();
  alone.input.wait_for_asks(2);
  EXPECT_EQ(alone.counters.buffered.elements, 4U);
  alone.queue.reset();
  EXPECT_EQ(alone.counters.buffered.elements, 0U);
  EXPECT_EQ(alone.counters.buffered.bytes, 0U);
  EXPECT_EQ(alone.run.memory().in_use_bytes(), 0U);
}

TEST(ChunkQueue, TakesAnotherDepth) {
  NumberQueue alone;
  alone.input.allow(0);
  alone.begin(kFour);
  alone.queue->set_depth(3);
  EXPECT_EQ(alone.counters.queue_max.elements, 3U);
  EXPECT_EQ(alone.counters.queue_max.bytes, 3 * QueueLimits::kBytesPerDepth);
}

}  // namespace
}  // namespace infeed::test
