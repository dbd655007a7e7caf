#include <atomic>
#include <barrier>
#include <future>
#include <gtest/gtest.h>
#include <latch>
#include <tbb/global_control.h>
#include <thread>

#include <infeed/pipeline/executor.h>

#include "pipeline/suite/executors.h"
#include "records/on_core.h"

namespace infeed::test {
namespace {

TEST(Executor, RunsEachTaskOnce) {
  const Executors executors;
  for (const NamedExecutor& executor : executors.all()) {
    SCOPED_TRACE(executor.name);
    std::vector<std::atomic<int>> runs(500);
    std::atomic<int> left = 500;
    std::promise<void> all;
    for (std::size_t i = 0; i < runs.size(); ++i) {
      executor.executor->submit([&, i] {
        ++runs[i];
        if (--left == 0) all.set_value();
      });
    }
    all.get_future().wait();
    for (const auto& count : runs) EXPECT_EQ(count, 1);
  }
}

TEST(Executor, SaysHowManyTasksRunAtATime) {
  EXPECT_EQ(Executor::inline_()->concurrency(), 0);
  EXPECT_EQ(Executor::threads(3)->concurrency(), 3);
  EXPECT_EQ(Executor::threads()->concurrency(), usable_cores());
  if (kTbbIsTested) {
    EXPECT_EQ(Executor::tbb(3, TbbWorkers::one_more)->concurrency(), 3);
    EXPECT_EQ(Executor::tbb(0, TbbWorkers::one_more)->concurrency(), usable_cores());
    EXPECT_EQ(Executor::tbb(1)->concurrency(), 1);
  }
}

TEST(Executor, TbbLeavesTheLimitOfItsWorkersAlone) {
  if (!kTbbIsTested) return;
  const auto limit = [] {
    return tbb::global_control::active_value(tbb::global_control::max_allowed_parallelism);
  };
  const std::size_t before = limit();
  const auto executor = Executor::tbb();
  EXPECT_EQ(limit(), before);
  EXPECT_LE(executor->concurrency(), std::max<std::size_t>(before, 2) - 1);
  {
    const auto more = Executor::tbb(0, TbbWorkers::one_more);
    EXPECT_GE(limit(), static_cast<std::size_t>(usable_cores()) + 1);
  }
  EXPECT_EQ(limit(), before);
}

TEST(Executor, RunsAsManyTasksAtATime) {
  std::vector<std::shared_ptr<Executor>> executors = {Executor::threads(3)};
  if (kTbbIsTested) executors.push_back(Executor::tbb(2, TbbWorkers::one_more));
  for (const auto& executor : executors) {
    // Each task waits until all run: with fewer threads this would never end.
    const int count = executor->concurrency();
    // Owned by the tasks: the last ones may still look when the first one reports that all run.
    struct State {
      std::atomic<int> here = 0;
      std::promise<void> done;
    };
    const auto state = std::make_shared<State>();
    for (int i = 0; i < count; ++i) {
      executor->submit([state, count] {
        if (++state->here == count) state->done.set_value();
        while (state->here < count) std::this_thread::yield();
      });
    }
    state->done.get_future().wait();
  }
}

/// Counts down when the thread that set it ends.
struct AtThreadEnd {
  std::shared_ptr<std::latch> ended;
  ~AtThreadEnd() {
    if (ended != nullptr) ended->count_down();
  }
};

/// Runs as many tasks at once as there may be threads, each of which counts `ended` down at its end.
void use_all_threads(Executor& executor, const std::shared_ptr<std::latch>& ended) {
  const auto here = std::make_shared<std::barrier<>>(executor.concurrency() + 1);
  for (int i = 0; i < executor.concurrency(); ++i) {
    executor.submit([here, ended] {
      thread_local AtThreadEnd end;
      end.ended = ended;
      here->arrive_and_wait();
    });
  }
  here->arrive_and_wait();
}

TEST(Executor, ThreadsEndWhenTheyHaveNothingToDoAndComeAgain) {
  const auto executor = Executor::threads(3);
  for (int round = 0; round < 2; ++round) {
    const auto ended = std::make_shared<std::latch>(2);
    use_all_threads(*executor, ended);
    ended->wait();  // for two of three
  }
  use_all_threads(*executor, nullptr);
}

TEST(Executor, InlineRunsInTheCallersThread) {
  std::thread::id ran_in;
  Executor::inline_()->submit([&] { ran_in = std::this_thread::get_id(); });
  EXPECT_EQ(ran_in, std::this_thread::get_id());
}

TEST(Executor, ATaskMaySubmitTasks) {
  const Executors executors;
  for (const NamedExecutor& executor : executors.all()) {
    SCOPED_TRACE(executor.name);
    std::promise<void> done;
    executor.executor->submit([&] { executor.executor->submit([&] { done.set_value(); }); });
    done.get_future().wait();
  }
}

TEST(Executor, ADestructorWaitsForWhatRunsNotForWhatCantBegin) {
  if (!kTbbIsTested) return;
  // All of TBB's workers are busy; one of them makes an executor, uses it and lets it go.
  const auto outer = Executor::tbb();
  const int count = outer->concurrency();
  std::atomic<int> left = count;
  std::promise<void> all;
  for (int i = 0; i < count; ++i) {
    outer->submit([&] {
      {
        const auto inner = Executor::tbb(1);
        inner->submit([] {});
      }
      if (--left == 0) all.set_value();
    });
  }
  all.get_future().wait();
}

TEST(UsableCores, RespectsTheAffinityMask) {
  EXPECT_GE(usable_cores(), 1);
  const std::vector<int> allowed = testing::allowed_cores();
  ASSERT_FALSE(allowed.empty());
  EXPECT_LE(usable_cores(), static_cast<int>(allowed.size()));
  testing::on_core(allowed.front(), [] { EXPECT_EQ(usable_cores(), 1); });
}

}  // namespace
}  // namespace infeed::test
