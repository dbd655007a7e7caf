#include "infeed/pipeline/step_timer.h"

#include <chrono>
#include <cstdint>

#include <infeed/pipeline/executor.h>
#include <infeed/pipeline/map.h>
#include <infeed/pipeline/range.h>

#include "matchers.h"
#include "pipeline/suite/busy.h"

namespace infeed::test {
namespace {

using std::chrono::milliseconds;
using std::chrono::nanoseconds;

/// More than a wait's own clock may differ from this one, however long a busy machine makes the wait.
constexpr std::chrono::microseconds kClocksDiffer{100};
constexpr std::chrono::microseconds kWait = milliseconds(2) - kClocksDiffer;

/// Elements that their consumer makes itself, 2 ms each.
Dataset<std::int64_t> slow_numbers() {
  return range(10) | map([](std::int64_t x) {
           be_busy_for(milliseconds(2));
           return x;
         });
}

TEST(StepTimer, TellsWaitingComputingAndTheRest) {
  auto iterator = slow_numbers().iterate({.executor = Executor::inline_()});
  read_ahead_until(iterator, 0);  // so that each pull makes one element
  iterator.next();                // before the timer
  const auto begin = std::chrono::steady_clock::now();
  StepTimer timer(iterator);
  EXPECT_EQ(timer.steps(), 0U);
  const auto took = [&] { return nanoseconds(std::chrono::steady_clock::now() - begin); };
  const auto all = [&] { return timer.infeed_wait() + timer.compute() + timer.idle(); };
  iterator.next();
  be_busy_for(milliseconds(3));
  timer.begin();
  be_busy_for(milliseconds(4));
  timer.end();
  EXPECT_EQ(timer.steps(), 1U);
  EXPECT_GE(timer.infeed_wait(), kWait);
  EXPECT_GE(timer.compute(), milliseconds(4));
  EXPECT_GE(timer.idle(), milliseconds(3) - kClocksDiffer) << "it is what the others leave";
  EXPECT_LE(all(), took());
  EXPECT_THAT(timer.summary(), StartsWith("1 steps, "));
  const nanoseconds waited = timer.infeed_wait();
  const nanoseconds computed = timer.compute();
  const nanoseconds idle = timer.idle();
  be_busy_for(milliseconds(3));
  timer.end();
  EXPECT_EQ(timer.infeed_wait(), waited) << "nothing was asked for";
  EXPECT_GE(timer.compute() - computed, milliseconds(3)) << "without a begin() all is computing";
  EXPECT_EQ(timer.idle(), idle);
  timer.begin();
  timer.end();
  iterator.next();
  timer.end();
  EXPECT_EQ(timer.steps(), 4U);
  EXPECT_GE(timer.infeed_wait(), waited + kWait);
  EXPECT_LE(all(), took());
}

TEST(StepTimer, BeginsItsFirstStepWhereItIsMade) {
  auto iterator = range(3).iterate();
  StepTimer timer(iterator);
  be_busy_for(milliseconds(2));
  timer.begin();
  timer.end();
  EXPECT_GE(timer.idle(), milliseconds(2));
  EXPECT_EQ(timer.infeed_wait(), nanoseconds(0));
}

}  // namespace
}  // namespace infeed::test
