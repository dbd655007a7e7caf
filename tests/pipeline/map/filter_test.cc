#include <atomic>
#include <chrono>
#include <thread>

#include <infeed/pipeline/filter.h>
#include <infeed/pipeline/range.h>

#include "pipeline/suite/stage_suite.h"

namespace infeed::test {
namespace {

/// Keeps by the number, throws for some.
template <class Keep>
Stream filtered(const Slots& in, Keep keep) {
  Stream stream;
  for (const Slot& slot : in) {
    try {
      if (slot.fails || keep(slot.value)) stream.push_back(show(slot));
    } catch (const std::exception& exception) {
      stream.push_back(std::string("! ") + exception.what());
    }
  }
  return stream;
}

template <class Keep>
void run_filter_suite(Keep keep, int parallelism = 1) {
  run_stage_suite(
      [=](auto dataset) {
        return dataset | filter([keep](const auto& element) { return keep(value_of(element)); },
                                {.parallelism = parallelism});
      },
      [keep](const Slots& in) { return filtered(in, keep); });
}

TEST(Filter, PassesTheSuite) {
  run_filter_suite([](std::int64_t x) { return x % 3 != 1; });
}
TEST(Filter, ThatKeepsAll) {
  run_filter_suite([](std::int64_t) { return true; });
}
TEST(Filter, ThatKeepsNothing) {
  run_filter_suite([](std::int64_t) { return false; });
}
TEST(Filter, ThatKeepsOneInAHundred) {
  run_filter_suite([](std::int64_t x) { return x % 100 == 42; });
}
TEST(Filter, ThatThrows) {
  run_filter_suite([](std::int64_t x) {
    if (x % 5 == 2) throw std::runtime_error("filter refuses " + std::to_string(x));
    return x % 5 < 3;
  });
}

TEST(Filter, PassesTheSuiteInParallel) {
  run_filter_suite([](std::int64_t x) { return x % 3 != 1; }, 3);
}
TEST(Filter, ThatKeepsFewInParallel) {
  run_filter_suite([](std::int64_t x) { return x % 100 == 42; }, 2);
}
TEST(Filter, ThatThrowsInParallel) {
  run_filter_suite(
      [](std::int64_t x) {
        if (x % 5 == 2) throw std::runtime_error("filter refuses " + std::to_string(x));
        return x % 5 < 3;
      },
      3);
}

/// The predicate waits for a second thread: the stage's, or the consumer's beside them.
TEST(Filter, CallsThePredicateFromSeveralThreads) {
  std::atomic<int> inside = 0;
  std::atomic<int> most = 0;
  const auto until = std::chrono::steady_clock::now() + std::chrono::minutes(1);
  const auto meets = [&](std::int64_t x) {
    const int now = ++inside;
    for (int seen = most; now > seen && !most.compare_exchange_weak(seen, now);) {
    }
    while (most < 2 && std::chrono::steady_clock::now() < until) std::this_thread::yield();
    --inside;
    return x % 2 == 0;
  };
  EXPECT_EQ(stream_of(range(400) | filter(meets, {.parallelism = 2})), stream_of(range(0, 400, 2)));
  EXPECT_GE(most, 2);
}

TEST(Filter, HasNoKnownLength) {
  const auto odd = filter([](std::int64_t x) { return x % 2 == 1; });
  EXPECT_TRUE((range(10) | odd).cardinality().is_unknown());
  EXPECT_EQ((range(0) | odd).cardinality(), Cardinality::finite(0));
}

}  // namespace
}  // namespace infeed::test
