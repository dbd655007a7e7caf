#include <atomic>
#include <chrono>
#include <gtest/gtest.h>

#include <infeed/pipeline/executor.h>
#include <infeed/pipeline/map.h>
#include <infeed/pipeline/range.h>

#include "pipeline/suite/busy.h"

// Stages while other processes have the cores most of the time.
namespace infeed::test {
namespace {

TEST(BusyMachine, AFunctionThatIsPreemptedIsNotTakenForOneThatWaits) {
  const BusyCores busy;
  std::atomic<int> in_flight{0};
  std::atomic<int> in_flight_max{0};
  const auto computes = [&](std::int64_t x) {
    const int now = ++in_flight;
    int seen = in_flight_max;
    while (seen < now && !in_flight_max.compare_exchange_weak(seen, now)) {
    }
    // Longer than the scheduler's time slice.
    compute_for(std::chrono::milliseconds(6));
    --in_flight;
    return x;
  };
  auto iterator = (range(24) | map(computes, {.parallelism = autotune}))
                      .iterate({.executor = Executor::threads(2)});
  for (std::int64_t x = 0; x < 24; ++x) ASSERT_EQ(iterator.next(), x);
  // The executor's two threads and the consumer; a map that waits gets sixteen of its own.
  EXPECT_LE(in_flight_max, 3);
}

}  // namespace
}  // namespace infeed::test
