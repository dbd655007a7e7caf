#include <chrono>
#include <mutex>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <infeed/infeed.h>

#include "pipeline/suite/stream.h"
#include "thrown_error.h"

// The number of threads that an iterator starts, and its report on them.
namespace infeed::test {
namespace {

/// The names of the threads that an iterator has started.
class StartedThreads {
 public:
  auto listener() {
    return [this](std::string_view name) {
      const std::lock_guard lock(mutex_);
      names_.emplace(name);
    };
  }
  std::multiset<std::string> names() {
    const std::lock_guard lock(mutex_);
    return names_;
  }

 private:
  std::mutex mutex_;
  std::multiset<std::string> names_;
};

Dataset<std::int64_t> with_many_threads() {
  return range(40) |
         interleave([](std::int64_t first) { return range(first, first + 50); },
                    {.cycle_length = 8, .parallelism = 4}) |
         map([](std::int64_t x) { return x * x; }, {.parallelism = autotune}) | prefetch() |
         map([](std::int64_t x) { return x + 1; }, {.parallelism = 2}) | prefetch();
}

TEST(ThreadsMax, IsKept) {
  const auto dataset = with_many_threads();
  const Stream expected = stream_of(dataset, {.executor = Executor::inline_()});
  for (int threads_max = 1; threads_max <= 12; ++threads_max) {
    SCOPED_TRACE(threads_max);
    StartedThreads started;
    EXPECT_EQ(
        stream_of(dataset, {.threads_max = threads_max, .on_thread_start = started.listener()}),
        expected);
    auto names = started.names();
    names.erase("tuner");  // not counted: it is the watchdog's
    EXPECT_LE(names.size(), threads_max);
  }
}

TEST(ThreadsMax, OfOneLeavesEverythingToTheConsumer) {
  StartedThreads started;
  stream_of(with_many_threads(), {.threads_max = 1, .on_thread_start = started.listener()});
  EXPECT_THAT(started.names(), IsEmpty());
}

TEST(ThreadsMax, MustNotBeNegative) {
  EXPECT_EQ(error_of([] { range(3).iterate({.threads_max = -1}); }).message(),
            "threads_max is -1; give 1 or more, or 0 for no limit");
}

TEST(OnThreadStart, IsToldOfEachThread) {
  StartedThreads started;
  stream_of(with_many_threads(),
            {.on_thread_start = started.listener(), .watchdog = std::chrono::minutes(1)});
  const std::multiset<std::string> names = started.names();
  EXPECT_EQ(names.count("prefetch"), 2);
  EXPECT_EQ(names.count("interleave"), 5);
  EXPECT_EQ(names.count("map-driver"), 2);
  EXPECT_THAT(names, Contains("worker"));
}

/// An epoch of few elements took 163 us behind a parallel map, of which starting threads was most.
TEST(BriefPasses, StartNoThreads) {
  const auto number = [](std::int64_t x) { return x; };
  const std::vector<std::pair<std::string, Dataset<std::int64_t>>> cases = {
      {"map-driver", range(2) | map(number, {.parallelism = 2}) | repeat(100)},
      {"prefetch", range(2) | prefetch(2) | repeat(100)}};
  for (const auto& [thread, dataset] : cases) {
    StartedThreads started;
    EXPECT_EQ(dataset.count({.on_thread_start = started.listener()}), 200);
    EXPECT_GE(started.names().count(thread), 1);
    EXPECT_LT(started.names().count(thread), 50) << "a pass can be interrupted, hardly each";
  }
}

/// Passes of 1, 500,000, 1, 500,000 ... elements: half of them turn out longer than the one before.
TEST(BriefPasses, StartTheirThreadsOnceTheyAreLonger) {
  StartedThreads started;
  const auto passes = range(20) | flat_map([](std::int64_t pass) {
                        return range(pass % 2 == 0 ? 1 : 500'000) |
                               map([](std::int64_t x) { return x; }) | prefetch(1000);
                      });
  EXPECT_EQ(passes.count({.on_thread_start = started.listener()}), 5'000'010);
  EXPECT_GE(started.names().count("prefetch"), 15);
}

}  // namespace
}  // namespace infeed::test
