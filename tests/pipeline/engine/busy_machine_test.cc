#include <algorithm>
#include <atomic>
#include <gtest/gtest.h>
#include <thread>
#include <time.h>
#include <vector>

#include <infeed/pipeline/executor.h>
#include <infeed/pipeline/map.h>
#include <infeed/pipeline/range.h>

// What stages do when others have the cores most of the time.
namespace infeed::test {
namespace {

/// Threads that compute without end, several a core.
class BusyCores {
 public:
  BusyCores() {
    for (unsigned i = 0; i < 6 * std::thread::hardware_concurrency(); ++i) {
      threads_.emplace_back([](const std::stop_token& stop) {
        while (!stop.stop_requested()) {
        }
      });
    }
  }

 private:
  std::vector<std::jthread> threads_;
};

void compute_for(std::int64_t cpu_ns) {
  const auto now_ns = [] {
    timespec now{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return now.tv_sec * std::int64_t{1'000'000'000} + now.tv_nsec;
  };
  const std::int64_t end_ns = now_ns() + cpu_ns;
  while (now_ns() < end_ns) {
  }
}

TEST(BusyMachine, AFunctionThatIsPreemptedIsNotTakenForOneThatWaits) {
  const BusyCores busy;
  std::atomic<int> in_flight{0};
  std::atomic<int> in_flight_max{0};
  const auto computes = [&](std::int64_t x) {
    const int now = ++in_flight;
    int seen = in_flight_max;
    while (seen < now && !in_flight_max.compare_exchange_weak(seen, now)) {
    }
    // Longer than what the scheduler gives a thread at a time.
    compute_for(6'000'000);
    --in_flight;
    return x;
  };
  auto iterator = (range(24) | map(computes, {.parallelism = autotune}))
                      .iterate({.executor = Executor::threads(2)});
  for (std::int64_t x = 0; x < 24; ++x) ASSERT_EQ(iterator.next(), x);
  // The executor's two threads and the consumer; one that waits gets sixteen of its own.
  EXPECT_LE(in_flight_max, 3);
}

}  // namespace
}  // namespace infeed::test
