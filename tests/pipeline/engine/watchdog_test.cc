#include "engine/threads/watchdog.h"

#include <chrono>
#include <cstdint>
#include <future>
#include <gtest/gtest.h>
#include <mutex>
#include <set>
#include <string>
#include <string_view>

#include <infeed/error.h>
#include <infeed/pipeline/prefetch.h>
#include <infeed/pipeline/range.h>

#include "engine/iterator_context.h"
#include "engine/stage_counters.h"
#include "pipeline/suite/busy.h"
#include "quiet_run.h"

namespace infeed::test {
namespace {

using detail::StageCounters;
using detail::Waiting;
using detail::Watchdog;
using std::chrono::milliseconds;
using std::chrono::steady_clock;

/// A run that a watchdog looks at.
struct Watched {
  explicit Watched(milliseconds limit) : dog(run, limit) {}

  const Dataset<std::int64_t> dataset = range(3);
  IteratorContext run{IterateOptions{}};
  StageCounters& stage = run.counters().of_stage(*dataset.node(), nullptr, 0);
  std::promise<void> failed;
  const CancellationWaker waker{run, [this] { failed.set_value(); }};
  Watchdog dog;
};

/// Nanoseconds can't count it.
TEST(Watchdog, TheLongestLimitIsNone) {
  const auto dataset = range(10'000) | prefetch();
  EXPECT_EQ(dataset.count({.watchdog = std::chrono::milliseconds::max()}), 10'000);
}

TEST(Watchdog, FailsARunInWhichNothingMoves) {
  const auto begin = steady_clock::now();
  constexpr milliseconds kLimit{24};
  Watched watched(kLimit);
  watched.stage.elements = 5;  // it moves once
  watched.stage.inside = 1;
  watched.dog.consumer_waits(true);
  watched.failed.get_future().wait();
  EXPECT_GE(steady_clock::now() - begin, kLimit);
  EXPECT_TRUE(watched.run.cancelled());
  const ErrorPointer error = watched.run.failure();
  ASSERT_NE(error, nullptr);
  EXPECT_EQ(error->code(), ErrorCode::deadline_exceeded);
  EXPECT_EQ(
      error->message(),
      "nothing has moved for 24 ms: the consumer waits for range; range is inside its own code "
      "(a user's function, a read, or a full queue)");
}

TEST(Watchdog, LeavesARunAloneWhoseConsumerDoesNotWait) {
  Watched watched(milliseconds(2));
  { const Waiting waiting(nullptr); }
  be_busy_for(milliseconds(30));
  EXPECT_EQ(watched.run.failure(), nullptr);
}

/// The time begins with the consumer's wait, and again with each element.
TEST(Watchdog, CountsFromTheLastMove) {
  EXPECT_TRUE(holds_in_a_quiet_run([] {
    Watched watched(milliseconds(80));
    be_busy_for(milliseconds(100));
    const Waiting waiting(&watched.dog);
    be_busy_for(milliseconds(40));
    ++watched.stage.elements;
    be_busy_for(milliseconds(50));
    return watched.run.failure() == nullptr;
  }));
}

TEST(Watchdog, ForgetsAWaitThatIsOver) {
  EXPECT_TRUE(holds_in_a_quiet_run([] {
    Watched watched(milliseconds(40));
    { const Waiting waiting(&watched.dog); }
    be_busy_for(milliseconds(60));
    return watched.run.failure() == nullptr;
  }));
}

TEST(Watchdog, HasAThreadOfItsName) {
  std::mutex mutex;
  std::set<std::string> names;
  IteratorContext run(IterateOptions{.on_thread_start = [&](std::string_view name) {
    const std::lock_guard lock(mutex);
    names.emplace(name);
  }});
  { const Watchdog dog(run, std::chrono::hours(1)); }
  EXPECT_EQ(names, std::set<std::string>{"watchdog"});
}

}  // namespace
}  // namespace infeed::test
