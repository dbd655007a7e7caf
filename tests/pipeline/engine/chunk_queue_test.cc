#include "engine/work/chunk_queue.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <limits>
#include <memory>
#include <mutex>
#include <numeric>
#include <optional>
#include <stop_token>
#include <utility>
#include <vector>

#include <infeed/error.h>
#include <infeed/pipeline/stage.h>

#include "engine/iterator_context.h"
#include "engine/stage_counters.h"
#include "engine/threads/clock.h"
#include "thrown_error.h"

// The queue behind prefetch, pull by pull. The input waits for the test, so nothing depends on which
// thread is quicker.
namespace infeed::test {
namespace {

using detail::ChunkQueue;
using detail::QueueLimits;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

/// One pull of a ScriptedInput.
struct Given {
  std::size_t count = 0;       ///< 0: as many as are asked for
  bool ends_in_error = false;  ///< the last slot is an error
};

/// Gives numbers (or vectors of as many numbers as listed), and ends after `left` slots. Pulls
/// wait until they are allowed.
template <class T>
class ScriptedInput final : public Stage {
 public:
  explicit ScriptedInput(const StageContext& context) : Stage(context) {}

  /// Returns how many elements each pull so far was asked for.
  std::vector<std::size_t> asks() const {
    const std::lock_guard lock(mutex_);
    return asks_;
  }
  void wait_for_asks(std::size_t count) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return asks_.size() >= count; });
  }
  void allow(std::size_t pulls) {
    const std::lock_guard lock(mutex_);
    allowed_ = pulls;
    changed_.notify_all();
  }

  std::vector<Given> script;  ///< the first pulls; later ones give what is asked for
  std::size_t left = 20;
  bool fails_at_end = false;
  std::function<T(std::int64_t)> make;

 protected:
  Pull do_pull(Chunk& out, std::size_t want) override {
    std::size_t pull = 0;
    {
      std::unique_lock lock(mutex_);
      pull = asks_.size();
      asks_.push_back(want);
      changed_.notify_all();
      changed_.wait(lock, [&] { return pull < allowed_; });
    }
    if (left == 0 && fails_at_end) throw Error(ErrorCode::data_loss, "the input is broken");
    if (left == 0) return Pull::end;
    const Given given = pull < script.size() ? script[pull] : Given{};
    std::size_t count = std::min(given.count == 0 ? want : given.count, left);
    left -= count;
    if (given.ends_in_error) --count;
    for (std::size_t i = 0; i < count; ++i) out.append(make(next_++));
    if (given.ends_in_error) {
      out.set_error(std::make_shared<const Error>(ErrorCode::data_loss, "an element is broken"));
    }
    return Pull::values;
  }
  TracedPlace do_trace(std::uint64_t position) const override { return Stage::do_trace(position); }

 private:
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<std::size_t> asks_;
  std::size_t allowed_ = std::numeric_limits<std::size_t>::max();
  std::int64_t next_ = 0;
};

template <class T>
class QueueOf {
 public:
  explicit QueueOf(std::uint64_t memory_bytes_max = 0)
      : run(IterateOptions{.memory_bytes_max = memory_bytes_max}) {}
  ~QueueOf() { input.allow(std::numeric_limits<std::size_t>::max()); }

  void begin(const QueueLimits& limits) {
    queue.emplace(run, counters, "queue", input, type_info<T>(), limits, [this] { ++told; });
  }
  /// Returns the slots that a pop() gives.
  std::size_t popped() {
    chunk.clear();
    EXPECT_EQ(queue->pop(chunk), Pull::values);
    return chunk.slots();
  }
  /// Takes what is left, in either form. Returns how the queue ended.
  Pull take_rest(std::vector<T>& taken) {
    while (true) {
      const auto values = chunk.values<T>();
      taken.insert(taken.end(), values.begin(), values.end());
      chunk.clear();
      Pull pulled = queue->pop(chunk);
      if (pulled == Pull::values && chunk.empty()) pulled = queue->pull_here(chunk, 3);
      if (pulled != Pull::values) return pulled;
    }
  }

  IteratorContext run;
  detail::StageCounters counters;
  detail::StageCounters input_counters;
  ScriptedInput<T> input{{.run = run, .counters = &input_counters, .type = &type_info<T>()}};
  Chunk chunk{type_info<T>()};
  std::atomic<int> told{0};  ///< times that a chunk or the end was there
  std::optional<ChunkQueue> queue;
};

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
