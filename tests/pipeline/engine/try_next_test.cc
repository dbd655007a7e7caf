#include <chrono>
#include <functional>
#include <numeric>
#include <poll.h>
#include <semaphore>
#include <stop_token>
#include <thread>
#include <vector>

#include <infeed/pipeline/map.h>
#include <infeed/pipeline/range.h>

#include "no_threads.h"
#include "pipeline/suite/busy.h"
#include "pipeline/suite/test_sources.h"
#include "quiet_run.h"
#include "thrown_error.h"

// A consumer that doesn't wait for elements, or only for a limited time.
namespace infeed::test {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;

constexpr milliseconds kLong = std::chrono::minutes(1);

bool is_readable(int descriptor, milliseconds time = milliseconds(0)) {
  pollfd asked{.fd = descriptor, .events = POLLIN, .revents = 0};
  return ::poll(&asked, 1, static_cast<int>(time.count())) == 1;
}

Dataset<std::int64_t> gated_numbers(Gate& gate, std::size_t count = 20) {
  return gated<std::int64_t>(plain_slots(count), gate);
}

TEST(TryNext, FindsNothingUntilAnElementIsThere) {
  Gate gate;
  auto iterator = gated_numbers(gate).iterate();
  const auto nothing = iterator.try_next();
  EXPECT_FALSE(nothing);
  EXPECT_FALSE(nothing.ended());
  gate.wait_until_asked();
  EXPECT_FALSE(iterator.try_next());
  EXPECT_FALSE(is_readable(iterator.ready_descriptor()));
  gate.release(1);
  ASSERT_TRUE(is_readable(iterator.ready_descriptor(), kLong));
  auto first = iterator.try_next();
  ASSERT_TRUE(first.has_value());
  EXPECT_EQ(*first, 0);
  EXPECT_FALSE(first.ended());
  EXPECT_EQ(iterator.position(), 1);
  gate.consumer_is_done();
}

TEST(TryNext, AnEventLoopGetsTheWholeStream) {
  // Errors and the end are results, too.
  const Slots slots = failing_slots(700, [](std::size_t i) { return i == 0 || i % 97 == 5; });
  auto iterator = listed<std::int64_t>(slots, {.kind = Cut::Kind::random, .seed = 3}).iterate();
  Stream stream;
  bool ended = false;
  while (!ended) {
    ASSERT_TRUE(is_readable(iterator.ready_descriptor(), kLong));
    try {
      auto next = iterator.try_next();
      if (next) stream.push_back(show(*next));
      ended = next.ended();
    } catch (const Error& error) {
      stream.push_back("! " + error.message());
    }
  }
  EXPECT_EQ(stream, show_all(slots));
  EXPECT_TRUE(is_readable(iterator.ready_descriptor()));
  EXPECT_TRUE(iterator.try_next().ended());
  EXPECT_EQ(iterator.memory().in_use_bytes(), 0);
}

TEST(TryNext, MixesWithTheOthersAndResumesExactly) {
  const auto dataset = range(1000);
  auto iterator = dataset.iterate();
  std::vector<std::int64_t> seen;
  while (seen.size() < 400) {
    if (auto next = iterator.try_next()) seen.push_back(*next);
    seen.push_back(*iterator.next());
    const auto some = iterator.peek().first(1);
    seen.push_back(some[0]);
    iterator.take(1);
    seen.push_back(*iterator.next_for(kLong));
  }
  std::vector<std::int64_t> expected(seen.size());
  std::iota(expected.begin(), expected.end(), 0);
  EXPECT_EQ(seen, expected);
  auto resumed = dataset.iterate({.resume = iterator.checkpoint()});
  EXPECT_EQ(*resumed.next_for(kLong), static_cast<std::int64_t>(seen.size()));
}

TEST(TryNext, ATerminalErrorIsSomethingToBeHad) {
  Gate gate;
  auto iterator = gated_numbers(gate).iterate();
  EXPECT_FALSE(iterator.try_next());
  iterator.cancel();
  ASSERT_TRUE(is_readable(iterator.ready_descriptor(), kLong));
  EXPECT_EQ(error_of([&] { iterator.try_next(); }).code(), ErrorCode::cancelled);
  EXPECT_EQ(error_of([&] { iterator.try_next(); }).code(), ErrorCode::cancelled);
  EXPECT_EQ(gate.stages(), 0);
}

/// An event loop waited for ever for an iterator that was cancelled before it was asked.
TEST(TryNext, ACancellationBeforeIsSomethingToBeHad) {
  for (const bool by_token : {true, false}) {
    std::stop_source stop;
    auto iterator = range(20).iterate({.stop = stop.get_token()});
    if (by_token) {
      stop.request_stop();
    } else {
      iterator.cancel();
    }
    ASSERT_TRUE(is_readable(iterator.ready_descriptor(), kLong)) << by_token;
    EXPECT_EQ(error_of([&] { iterator.try_next(); }).code(), ErrorCode::cancelled);
  }
}

TEST(TryNext, ReadingAheadIsNoWaiting) {
  EXPECT_TRUE(holds_in_a_quiet_run([] {
    Gate gate;
    auto iterator = gated_numbers(gate).iterate();
    EXPECT_FALSE(iterator.try_next());
    gate.wait_until_asked();
    be_busy_for(milliseconds(5));
    const PipelineStatistics busy = iterator.statistics();
    EXPECT_GE(busy.elapsed_ns, 5'000'000);
    EXPECT_FALSE(iterator.next_for(milliseconds(5)));
    return busy.consumer_wait_ns < busy.elapsed_ns / 2 &&
           iterator.statistics().consumer_wait_ns >= busy.consumer_wait_ns + 4'000'000;
  }));
}

TEST(TryNext, WithoutThreadsItIsNext) {
  auto serial = range(3).iterate({.executor = Executor::inline_()});
  EXPECT_TRUE(is_readable(serial.ready_descriptor()));
  EXPECT_EQ(*serial.try_next(), 0);
  auto alone = range(3).iterate({.threads_max = 1});
  EXPECT_EQ(*alone.try_next(), 0);
}

/// An error was thrown that took the place of no element.
TEST(TryNext, WhereTheSystemGivesNoThreadItIsNext) {
  const IterateOptions options{.executor = Executor::threads(1)};
  auto polled = range(2000).iterate(options);
  auto awaited = range(3).iterate(options);
  auto watched = range(3).iterate(options);
  {
    const NoThreads none;
    EXPECT_EQ(*polled.try_next(), 0);
    EXPECT_EQ(*awaited.next_for(kLong), 0);
    EXPECT_TRUE(is_readable(watched.ready_descriptor()));
  }
  std::int64_t next = 1;  // with threads again
  while (auto element = polled.next_for(kLong)) EXPECT_EQ(*element, next++);
  EXPECT_EQ(next, 2000);
}

TEST(TryNext, CountsTheWaitWhereTheSystemGivesNoThread) {
  const auto slow = map([](std::int64_t x) {
    be_busy_for(milliseconds(2));
    return x;
  });
  auto iterator = (range(3) | slow).iterate({.executor = Executor::threads(1)});
  const NoThreads none;
  EXPECT_EQ(*iterator.try_next(), 0);
  EXPECT_GE(iterator.statistics().consumer_wait_ns, 1'900'000U);
}

TEST(NextFor, WaitsNoLonger) {
  Gate gate;
  auto iterator = gated_numbers(gate).iterate();
  const auto begin = std::chrono::steady_clock::now();
  EXPECT_FALSE(iterator.next_for(milliseconds(20)));
  EXPECT_GE(std::chrono::steady_clock::now() - begin, milliseconds(20));
  EXPECT_FALSE(iterator.next_for(milliseconds(-1)));
  EXPECT_FALSE(iterator.next_for(milliseconds::min()));
  std::jthread releaser([&] {
    gate.wait_until_asked();
    gate.release(1);
  });
  EXPECT_EQ(*iterator.next_for(hours::max()), 0);
}

TEST(NextFor, AStopEndsTheWaitAndNotTheIteration) {
  Gate gate;
  auto iterator = gated_numbers(gate).iterate();
  std::stop_source stop;
  std::jthread stopper([&] {
    gate.wait_until_asked();
    stop.request_stop();
  });
  EXPECT_FALSE(iterator.next(stop.get_token()));
  EXPECT_FALSE(iterator.next_for(kLong, stop.get_token()));
  stopper.join();
  gate.release(20);
  EXPECT_EQ(*iterator.next(), 0);
  EXPECT_EQ(*iterator.next(std::stop_token()), 1);
}

/// Otherwise a consumer that is quicker than the stages is woken for each of them.
TEST(NextFor, SeveralBatchesAreMadeAhead) {
  std::counting_semaphore<> made(0);
  auto iterator = (range(100) | map([&made](std::int64_t) {
                     made.release();
                     return std::vector<std::int64_t>(24'000);
                   })).iterate();
  EXPECT_TRUE(iterator.next_for(kLong).has_value());
  for (int i = 0; i < 1 + 16; ++i) ASSERT_TRUE(made.try_acquire_for(kLong)) << i;
}

TEST(NextFor, TheWatchdogLooksThen) {
  Gate gate;
  auto iterator = gated_numbers(gate).iterate({.watchdog = milliseconds(20)});
  EXPECT_EQ(error_of([&] { iterator.next_for(kLong); }).code(), ErrorCode::deadline_exceeded);
}

TEST(EmptyIterator, SaysWhatItIs) {
  Iterator<std::int64_t> iterator;
  EXPECT_FALSE(iterator.has_stream());
  const std::string expected =
      "this Iterator has no stream: it was default-constructed or moved from; assign "
      "dataset.iterate() to it first";
  EXPECT_EQ(error_of([&] { iterator.next(); }).message(), expected);
  EXPECT_EQ(error_of([&] { iterator.checkpoint(); }).message(), expected);
  iterator = range(3).iterate();
  EXPECT_TRUE(iterator.has_stream());
  EXPECT_EQ(*iterator.next(), 0);
  const Iterator<std::int64_t> other = std::move(iterator);
  EXPECT_EQ(error_of([&] { iterator.next(); }).message(), expected);
}

TEST(EmptyDataset, SaysWhatItIs) {
  Dataset<std::int64_t> dataset;
  EXPECT_FALSE(dataset.is_described());
  const std::string expected =
      "this Dataset describes nothing: it was default-constructed or moved from; assign one to it "
      "first";
  EXPECT_EQ(error_of([&] { dataset.iterate(); }).message(), expected);
  EXPECT_EQ(error_of([&] { dataset.cardinality(); }).message(), expected);
  EXPECT_EQ(error_of([&] { dataset | map([](std::int64_t x) { return x; }); }).message(), expected);
  dataset = range(3);
  EXPECT_TRUE(dataset.is_described());
  EXPECT_EQ(dataset.count(), 3);
}

TEST(WholeDataset, IsCollectedCountedReducedAndGoneThrough) {
  const auto dataset = range(1000) | map([](std::int64_t x) { return 2 * x; });
  const std::vector<std::int64_t> all = dataset.collect();
  ASSERT_EQ(all.size(), 1000);
  EXPECT_EQ(all[999], 1998);
  EXPECT_EQ(dataset.count(), 1000);
  EXPECT_EQ(range(0).count(), 0);
  EXPECT_EQ(dataset.reduce(std::int64_t{7}, std::plus<>()), 7 + 999 * 1000);
  std::int64_t last = 0;
  dataset.for_each([&](std::int64_t x) { last = x; });
  EXPECT_EQ(last, 1998);
}

TEST(WholeDataset, ThrowsTheFirstError) {
  const auto dataset =
      listed<std::int64_t>(failing_slots(20, [](std::size_t i) { return i == 7; }), {});
  EXPECT_EQ(error_of([&] { dataset.collect(); }).message(), message_of_broken(7));
  EXPECT_EQ(error_of([&] { dataset.count(); }).message(), message_of_broken(7));
}

}  // namespace
}  // namespace infeed::test
