#include <algorithm>
#include <chrono>
#include <filesystem>
#include <gtest/gtest.h>
#include <memory>
#include <thread>

#include <infeed/error.h>
#include <infeed/infeed.h>

#include "engine/iterator_context.h"
#include "pipeline/drawn/drawn_pipeline.h"
#include "pipeline/drawn/drawn_pipeline_builder.h"
#include "pipeline/suite/consumer.h"
#include "pipeline/suite/executors.h"

namespace infeed::test {
namespace {

std::ptrdiff_t threads_of_this_process() {
  const std::filesystem::directory_iterator tasks("/proc/self/task");
  return std::distance(begin(tasks), end(tasks));
}

/// Threads when nothing runs: this one, and those that a sanitizer starts with the first thread.
std::ptrdiff_t threads_at_rest() {
  std::thread([] {}).join();
  std::ptrdiff_t least = threads_of_this_process();
  const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(50);
  while (std::chrono::steady_clock::now() < end) {
    least = std::min(least, threads_of_this_process());
  }
  return least;
}

/// A joined thread may be listed a little longer: the kernel wakes the joining thread first.
bool threads_come_down_to(std::ptrdiff_t count) {
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::minutes(1);
  while (threads_of_this_process() != count) {
    if (std::chrono::steady_clock::now() > deadline) return false;
    std::this_thread::yield();
  }
  return true;
}

/// A random pipeline over a source that is never read to its end.
DrawnPipeline draw_long_pipeline(SeededRandom& random) {
  DrawnPipeline drawn = draw_pipeline(random, 8);
  drawn.stages.front() = {.op = "range",
                          .parameters = {{"count", 1'000'000'000}, {"start", 0}, {"step", 1}}};
  return drawn;
}

/// Takes a bit and cancels from another thread, or just drops the iterator.
void begin_and_stop(const DrawnPipeline& drawn, std::shared_ptr<Executor> executor,
                    SeededRandom& random) {
  const auto dataset = build_pipeline(drawn, random.chance(0.3) ? random() | 1 : 0);
  auto iterator = dataset.iterate({.executor = std::move(executor)});
  if (random.chance(0.2)) return;
  const auto pause = std::chrono::microseconds(random.below(random.chance(0.5) ? 20 : 2000));
  Consumer consumer(std::move(iterator));
  const auto until = std::chrono::steady_clock::now() + pause;
  while (std::chrono::steady_clock::now() < until) std::this_thread::yield();
  consumer.cancel();
  consumer.join();
  EXPECT_EQ(consumer.iterator().memory().in_use_bytes(), 0);
}

TEST(Cancellation, AThousandLeaveNoThreadAndNoByte) {
  SeededRandom random;
  const std::ptrdiff_t before = threads_at_rest();
  for (int round = 0; round < 1000; ++round) {
    const DrawnPipeline drawn = draw_long_pipeline(random);
    SCOPED_TRACE("pipeline " + std::to_string(round) + ": " + drawn.to_json());
    const std::uint64_t threads = random.below(4);
    begin_and_stop(
        drawn, threads == 0 ? Executor::inline_() : Executor::threads(static_cast<int>(threads)),
        random);
    ASSERT_TRUE(threads_come_down_to(before));
    if (HasFailure()) return;
  }
}

TEST(Cancellation, SomeOnTheDefaultExecutor) {
  SeededRandom random(1);
  for (int round = 0; round < 200; ++round) {
    const DrawnPipeline drawn = draw_long_pipeline(random);
    SCOPED_TRACE("pipeline " + std::to_string(round) + ": " + drawn.to_json());
    begin_and_stop(drawn, nullptr, random);
    if (HasFailure()) return;
  }
}

TEST(Cancellation, StopsAFilterThatKeepsNothing) {
  // The consumer is inside one call of next() that would never return.
  const DrawnPipeline drawn{{{"range", {{"count", 1LL << 60}, {"start", 1}, {"step", 2}}},
                             {"filter", {{"modulus", 2}, {"residue", 1}}}}};
  const Executors executors;
  for (const NamedExecutor& executor : executors.all()) {
    Consumer consumer(build_pipeline(drawn).iterate({.executor = executor.executor}));
    std::this_thread::yield();
    consumer.cancel();
    consumer.join();
    EXPECT_TRUE(consumer.was_cancelled());
    EXPECT_EQ(consumer.stream(), Stream());
  }
}

TEST(Cancellation, AnIteratorThatIsDroppedStopsWhatItStarted) {
  const std::ptrdiff_t before = threads_at_rest();
  {
    const auto executor = Executor::threads(2);
    auto iterator = (counter() | map([](std::int64_t x) { return x; }, {.parallelism = 2}) |
                     shuffle({.buffer = 1000, .seed = 1}) | batch(10) | prefetch(3))
                        .iterate({.executor = executor});
    EXPECT_TRUE(iterator.next());
    EXPECT_GT(threads_of_this_process(), before + 2);
  }
  EXPECT_TRUE(threads_come_down_to(before));
}

TEST(Cancellation, WakesWhoeverWaitsAndKeepsTheFirstFailure) {
  const auto error = [](const char* text) {
    return std::make_shared<const Error>(ErrorCode::data_loss, text);
  };
  IteratorContext run{IterateOptions{}};
  EXPECT_FALSE(run.cancelled());
  EXPECT_EQ(run.failure(), nullptr);
  int woken = 0;
  const auto first = error("first");
  {
    const CancellationWaker one(run, [&] { ++woken; });
    const CancellationWaker other(run, [&] { woken += 10; });
    run.fail(first);
    EXPECT_TRUE(run.cancelled());
    EXPECT_EQ(woken, 11);
    EXPECT_EQ(run.failure(), first);
    run.fail(error("second"));
    EXPECT_EQ(woken, 22);
    EXPECT_EQ(run.failure(), first);
  }
  run.cancel();
  EXPECT_EQ(woken, 22) << "nobody waits any more";
}

}  // namespace
}  // namespace infeed::test
