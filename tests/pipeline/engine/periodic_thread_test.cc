#include "engine/threads/periodic_thread.h"

#include <atomic>
#include <chrono>
#include <future>
#include <gtest/gtest.h>
#include <new>
#include <optional>
#include <thread>

namespace infeed::test {
namespace {

/// An eighth of a watchdog's limit is no whole millisecond below 8.
TEST(PeriodicThread, StepsAtMostOnceAMillisecond) {
  constexpr int kSteps = 20;
  const auto begin = std::chrono::steady_clock::now();
  std::promise<void> done;
  int steps = 0;
  const detail::PeriodicThread thread([] {}, std::chrono::milliseconds(0),
                                      [&] {
                                        if (++steps == kSteps) done.set_value();
                                        return steps < kSteps;
                                      });
  done.get_future().wait();
  EXPECT_GE(std::chrono::steady_clock::now() - begin, std::chrono::milliseconds(kSteps));
}

TEST(PeriodicThread, BeginsOnceAndStepsUntilAStepSaysNo) {
  std::atomic<int> begun = 0;
  std::atomic<int> steps = 0;
  std::promise<void> over;
  {
    const detail::PeriodicThread thread(
        [&] { ++begun; }, std::chrono::milliseconds(0),
        [&] {
          EXPECT_EQ(begun, 1);
          ++steps;
          if (steps == 1) throw std::bad_alloc();  // the next one comes in its time
          if (steps == 3) over.set_value();
          return steps < 3;
        });
    over.get_future().wait();
  }
  EXPECT_EQ(steps, 3);
  EXPECT_EQ(begun, 1);
}

TEST(PeriodicThread, EndsWithoutAStepWhereThePauseIsLong) {
  int steps = 0;
  {
    const detail::PeriodicThread thread([] {}, std::chrono::hours(1),
                                        [&] {
                                          ++steps;
                                          return true;
                                        });
  }
  EXPECT_EQ(steps, 0);
}

TEST(PeriodicThread, WaitsBeforeEachStep) {
  constexpr std::chrono::milliseconds kPause{7};
  const auto begin = std::chrono::steady_clock::now();
  std::promise<void> done;
  int steps = 0;
  const detail::PeriodicThread thread([] {}, kPause,
                                      [&] {
                                        if (++steps == 3) done.set_value();
                                        return steps < 3;
                                      });
  done.get_future().wait();
  EXPECT_GE(std::chrono::steady_clock::now() - begin, 3 * kPause);
}

/// Whoever destroys it has what the step does.
TEST(PeriodicThread, EndsBehindTheStepUnderWay) {
  std::promise<void> begun;
  std::promise<void> may_end;
  std::atomic<bool> has_ended = false;
  std::optional<detail::PeriodicThread> thread;
  thread.emplace([] {}, std::chrono::milliseconds(1),
                 [&] {
                   begun.set_value();
                   may_end.get_future().wait();
                   has_ended = true;
                   return false;
                 });
  begun.get_future().wait();
  std::thread ender([&] { may_end.set_value(); });
  thread.reset();
  EXPECT_TRUE(has_ended);
  ender.join();
}

}  // namespace
}  // namespace infeed::test
