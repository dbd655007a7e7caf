#include "engine/work/chunk_queue.h"

#include <chrono>
#include <cstdint>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <numeric>
#include <stop_token>
#include <sys/resource.h>
#include <utility>
#include <vector>

#include "engine/threads/clock.h"
#include "engine/tuning/knobs.h"
#include "pipeline/suite/queue_alone.h"
#include "thrown_error.h"

// The queue behind prefetch, pull by pull. The input waits for the test, so nothing depends on which
// thread is quicker.
namespace infeed::test {
namespace {

using detail::QueueLimits;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

class NumberQueue : public QueueOf<std::int64_t> {
 public:
  explicit NumberQueue(std::uint64_t memory_bytes_max = 0) : QueueOf(memory_bytes_max) {
    input.make = [](std::int64_t number) { return number; };
  }
  void expect_the_rest() {
    std::vector<std::int64_t> taken;
    EXPECT_EQ(take_rest(taken), Pull::end);
    std::vector<std::int64_t> expected(20);
    std::iota(expected.begin(), expected.end(), 0);
    EXPECT_EQ(taken, expected);
  }
};

constexpr QueueLimits kFour{.elements_max = 4, .bytes_max = 32, .adaptive = false};
constexpr QueueLimits kMany{.elements_max = 100, .bytes_max = 1'000'000, .adaptive = false};

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
    VectorQueue alone({10});  // 104 bytes each
    alone.begin_with(kLimits, {{2, true}, {2}, {1}});
    alone.wait_until_in_use(4 * 104);
    EXPECT_EQ(alone.popped(), 2U);
    EXPECT_EQ(alone.counters.buffered.elements, 3U);
  }
  VectorQueue alone({10});
  alone.begin_with(kLimits, {{1, true}, {3}, {1}});
  alone.wait_until_in_use(4 * 104);
  EXPECT_EQ(alone.popped(), 1U);
  EXPECT_EQ(alone.counters.buffered.elements, 3U) << "there is room, but hand-overs are dear";
}

TEST(ChunkQueue, TellsItsKnobHowEmptyItGets) {
  NumberQueue alone;
  detail::Knobs knobs({});
  detail::Knob knob(knobs, alone.counters,
                    {.kind = KnobKind::depth, .value = 100, .min = 1, .max = 200},
                    [](std::int64_t) {});
  alone.input.script = {{2, true}, {2}};
  alone.input.allow(2);
  alone.begin(kMany);
  alone.queue->set_depth_knob(knob);
  alone.queue->start();
  alone.input.wait_for_asks(3);
  EXPECT_EQ(alone.popped(), 2U);
  const auto states = knobs.states([](const detail::StageCounters&) { return 0; });
  ASSERT_EQ(states.size(), 1U);
  EXPECT_EQ(states[0].low, 2);
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

TEST(ChunkQueue, CountsTheTimeThatItsConsumerWaits) {
  NumberQueue alone;
  const std::uint64_t begin = detail::ticks_now();
  alone.begin(kFour);
  EXPECT_EQ(alone.popped(), 4U);
  const std::uint64_t by_pop = alone.counters.wait_ticks;
  EXPECT_GT(by_pop, 0U);
  EXPECT_LE(by_pop, detail::ticks_now() - begin);
  const auto soon = std::chrono::steady_clock::now() + std::chrono::hours(1);
  EXPECT_TRUE(alone.queue->wait_until_ready(soon, {}));
  EXPECT_GE(alone.counters.wait_ticks, by_pop);
  alone.expect_the_rest();
  EXPECT_LE(alone.counters.wait_ticks, detail::ticks_now() - begin);
  EXPECT_LE(alone.counters.full_ticks, detail::ticks_now() - begin);
}

TEST(ChunkQueue, CountsTheTimeThatItsConsumerPulls) {
  NumberQueue alone;
  const std::uint64_t begin = detail::ticks_now();
  alone.begin(kFour);
  alone.queue->set_serial(true);
  EXPECT_EQ(alone.popped(), 0U);
  const std::uint64_t before = alone.counters.wait_ticks;
  EXPECT_EQ(alone.queue->pull_here(alone.chunk, 5), Pull::values);
  EXPECT_GT(alone.counters.wait_ticks, before);
  EXPECT_LE(alone.counters.wait_ticks, detail::ticks_now() - begin);
}

TEST(ChunkQueue, ThrowsTheInputsErrorBehindAllElements) {
  NumberQueue alone;
  alone.input.fails_at_end = true;
  alone.begin(kFour);
  std::vector<std::int64_t> taken;
  EXPECT_EQ(error_of([&] { alone.take_rest(taken); }).message(), "the input is broken");
  EXPECT_EQ(taken.size(), 20U);
  EXPECT_EQ(error_of([&] { alone.queue->pop(alone.chunk); }).message(), "the input is broken");
}

TEST(ChunkQueue, GivesNothingOnceItIsStopped) {
  NumberQueue alone;
  alone.begin(kFour);
  alone.queue->start();
  alone.input.wait_for_asks(2);
  alone.queue->stop();
  EXPECT_EQ(alone.queue->pop(alone.chunk), Pull::cancelled);
  EXPECT_TRUE(alone.chunk.empty());
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

TEST(ChunkQueue, TellsOfTheFirstChunkAndOfItsEnds) {
  NumberQueue alone;
  alone.input.script = {{1}, {1}};
  alone.input.allow(2);
  alone.begin(kMany);
  EXPECT_EQ(alone.told, 0);
  alone.queue->start();
  alone.input.wait_for_asks(3);
  EXPECT_EQ(alone.told, 1) << "the second chunk finds one there";
  alone.queue->stop();
  EXPECT_EQ(alone.told, 2);
}

TEST(ChunkQueue, InTheSerialFormItsConsumerPulls) {
  NumberQueue alone;
  alone.begin(kFour);
  alone.queue->set_serial(true);
  alone.queue->start();
  EXPECT_EQ(alone.popped(), 0U);
  EXPECT_THAT(alone.input.asks(), IsEmpty());
  EXPECT_EQ(alone.queue->pull_here(alone.chunk, 5), Pull::values);
  EXPECT_THAT(alone.input.asks(), ElementsAre(5U));
  EXPECT_EQ(alone.chunk.slots(), 5U);
  alone.expect_the_rest();
  EXPECT_EQ(alone.queue->pop(alone.chunk), Pull::end);
}

TEST(ChunkQueue, ChangesItsFormInMidStream) {
  NumberQueue alone;
  alone.input.allow(1);
  alone.begin(kFour);
  alone.queue->start();
  alone.input.wait_for_asks(2);
  alone.queue->set_serial(true);
  EXPECT_EQ(alone.popped(), 4U) << "those of the thread come first";
  alone.input.allow(7);
  std::vector<std::int64_t> taken;
  while (!alone.chunk.empty()) {
    const auto values = alone.chunk.values<std::int64_t>();
    taken.insert(taken.end(), values.begin(), values.end());
    alone.popped();
  }
  EXPECT_EQ(taken.size(), 5U) << "and the one that it was pulling";
  EXPECT_EQ(alone.queue->pull_here(alone.chunk, 2), Pull::values);
  EXPECT_THAT(alone.chunk.values<std::int64_t>(), ElementsAre(5, 6));
  alone.queue->set_serial(false);
  EXPECT_NE(alone.popped(), 0U) << "the thread pulls again";
  EXPECT_EQ(alone.chunk.values<std::int64_t>()[0], 7);
}

/// A repeat of a few elements starts no thread for each pass.
TEST(ChunkQueue, BeginsInTheSerialFormBehindABriefPass) {
  NumberQueue alone;
  alone.input.left = 1000;
  alone.counters.last_pass_ticks = 1;
  alone.begin(kFour);
  alone.queue.reset();
  EXPECT_EQ(alone.counters.last_pass_ticks, 1U) << "nothing was pulled";
  alone.begin(kFour);
  alone.queue->start();
  EXPECT_EQ(alone.popped(), 0U);
  alone.counters.work_time.ticks += detail::ticks_of_us(1e6);
  EXPECT_EQ(alone.queue->pull_here(alone.chunk, 2), Pull::values);
  EXPECT_NE(alone.popped(), 0U) << "a longer one has a thread";
  alone.queue.reset();
  EXPECT_GT(alone.counters.last_pass_ticks, detail::ticks_of_us(1e6));
  alone.begin(kFour);
  EXPECT_NE(alone.popped(), 0U) << "the next pass is no brief one";
}

/// Starting its thread and those that work for it takes 100 us.
TEST(ChunkQueue, TakesAPassBelow100MicrosecondsForABriefOne) {
  const std::uint64_t limit = detail::ticks_of_us(100);
  for (const bool is_brief : {true, false}) {
    NumberQueue alone;
    alone.counters.last_pass_ticks = is_brief ? limit - 1 : limit;
    alone.begin(kFour);
    EXPECT_EQ(alone.popped(), is_brief ? 0U : 4U);
  }
}

/// Work that was done before, in an earlier pass, is none of this one.
TEST(ChunkQueue, TellsHowLongItsPassTook) {
  NumberQueue alone;
  alone.counters.work_time.ticks = detail::ticks_of_us(1e12);
  alone.begin(kFour);
  const std::uint64_t begin = detail::ticks_now();
  alone.popped();
  alone.counters.work_time.ticks += detail::ticks_of_us(1e6);
  alone.queue.reset();
  EXPECT_GT(alone.counters.last_pass_ticks, detail::ticks_of_us(1e6));
  EXPECT_LE(alone.counters.last_pass_ticks,
            detail::ticks_of_us(1e6) + 1 + (detail::ticks_now() - begin));
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

TEST(ChunkQueue, SaysWhetherSomethingIsReady) {
  using std::chrono::steady_clock;
  const auto some_day = steady_clock::now() + std::chrono::hours(1);
  NumberQueue alone;
  alone.input.allow(0);
  alone.begin(kFour);
  alone.queue->start();
  EXPECT_FALSE(alone.queue->wait_until_ready({}, {}));
  EXPECT_FALSE(alone.queue->wait_until_ready(steady_clock::now(), {}));
  std::stop_source stop;
  stop.request_stop();
  EXPECT_FALSE(alone.queue->wait_until_ready(some_day, stop.get_token()));
  alone.input.allow(100);
  EXPECT_TRUE(alone.queue->wait_until_ready(some_day, {}));
  EXPECT_TRUE(alone.queue->wait_until_ready({}, {}));
  EXPECT_EQ(alone.popped(), 4U);
  alone.queue->stop();
  EXPECT_TRUE(alone.queue->wait_until_ready({}, {})) << "its end is there";
}

std::uint64_t sleeps_of_this_thread() {
  rusage usage{};
  ::getrusage(RUSAGE_THREAD, &usage);
  return static_cast<std::uint64_t>(usage.ru_nvcsw);
}

/// Its timer is for chunks that come quickly. It woke the consumer every 200 us in a wait of any length.
TEST(ChunkQueue, SleepsUntilALateChunkComes) {
  NumberQueue alone;
  alone.input.script = std::vector<Given>(10, Given{1});
  alone.input.allow(10);
  alone.begin(kMany);
  alone.queue->start();
  alone.input.wait_for_asks(11);
  EXPECT_EQ(alone.popped(), 10U) << "they came quickly";
  const std::uint64_t before = sleeps_of_this_thread();
  const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(100);
  EXPECT_FALSE(alone.queue->wait_until_ready(end, {}));
  EXPECT_LT(sleeps_of_this_thread() - before, 10U);
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
