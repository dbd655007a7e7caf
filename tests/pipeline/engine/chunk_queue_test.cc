#include "engine/work/chunk_queue.h"

#include <chrono>
#include <cstdint>
#include <stop_token>
#include <sys/resource.h>
#include <vector>

#include "engine/threads/clock.h"
#include "engine/tuning/knobs.h"
#include "pipeline/suite/queue_alone.h"
#include "thrown_error.h"

// The queue behind prefetch, pull by pull. The input waits for the test, so nothing depends on which
// thread is quicker.
namespace infeed::test {
namespace {

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

}  // namespace
}  // namespace infeed::test
