#include <algorithm>
#include <atomic>
#include <barrier>
#include <cerrno>
#include <dlfcn.h>
#include <functional>
#include <future>
#include <gtest/gtest.h>
#include <latch>
#include <mutex>
#include <pthread.h>
#include <set>
#include <string_view>
#include <tbb/global_control.h>
#include <tbb/parallel_for.h>
#include <tbb/task_arena.h>
#include <thread>
#include <utility>
#include <vector>

#include <infeed/error.h>
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
  EXPECT_EQ(Executor::threads(1)->concurrency(), 1);
  EXPECT_EQ(Executor::threads(3)->concurrency(), 3);
  EXPECT_EQ(Executor::threads()->concurrency(), usable_cores());
  if (!kTbbIsTested) return;
  EXPECT_EQ(Executor::tbb()->concurrency(), usable_cores());
  EXPECT_EQ(Executor::tbb(1)->concurrency(), 1);
  // More than that TBB doesn't start.
  EXPECT_EQ(Executor::tbb(1'000)->concurrency(), tbb::this_task_arena::max_concurrency());
}

TEST(Executor, TbbsLimitsOfTheProcessStayAsTheyAre) {
  if (!kTbbIsTested) return;
  const auto limits = [] {
    return std::pair(
        tbb::global_control::active_value(tbb::global_control::max_allowed_parallelism),
        tbb::global_control::active_value(tbb::global_control::thread_stack_size));
  };
  const auto before = limits();
  const auto executor = Executor::tbb();
  std::promise<void> done;
  executor->submit([&] { done.set_value(); });
  done.get_future().wait();
  EXPECT_EQ(limits(), before);
}

/// A program whose own work holds all of TBB's workers until it lets them go.
class BusyHost {
 public:
  BusyHost() {
    for (int i = 0; i < workers_; ++i) {
      arena_.enqueue([this] {
        held_.count_down();
        released_.wait();
        ended_.count_down();
      });
    }
    held_.wait();
  }
  void let_go() {
    released_.count_down();
    ended_.wait();
  }

 private:
  const int workers_ = tbb::this_task_arena::max_concurrency() - 1;
  std::latch held_{workers_};
  std::latch released_{1};
  std::latch ended_{workers_};
  tbb::task_arena arena_{workers_ + 1, 1};
};

// A host whose own work holds all of TBB's workers, which may take long, doesn't hold up the tasks.
TEST(Executor, TasksRunWhileTheHostHoldsAllWorkers) {
  if (!kTbbIsTested) return;
  BusyHost host;
  const auto executor = Executor::tbb();
  std::latch done(20);
  for (int i = 0; i < 20; ++i) executor->submit([&] { done.count_down(); });
  done.wait();
  host.let_go();
}

// TBB may come to what it was given long after the executor's end.
TEST(Executor, TellsOfNoThreadBehindItsEnd) {
  if (!kTbbIsTested || usable_cores() == 1) return;
  BusyHost host;
  struct Seen {
    std::atomic<bool> is_over = false;
    std::atomic<int> late = 0;
  };
  const auto seen = std::make_shared<Seen>();
  {
    const auto executor =
        Executor::tbb(0, [seen](std::string_view) { seen->late += seen->is_over; });
    std::latch done(20);
    for (int i = 0; i < 20; ++i) executor->submit([&] { done.count_down(); });
    done.wait();
  }
  seen->is_over = true;
  host.let_go();
  while (seen.use_count() > 1) std::this_thread::yield();  // until the last call has come
  EXPECT_EQ(seen->late, 0);
}

// A task's own parallel loop doesn't take another task in the middle of it.
TEST(Executor, ATaskWithAParallelLoopIsNotInterrupted) {
  if (!kTbbIsTested) return;
  const auto executor = Executor::tbb();
  std::latch done(200);
  std::atomic<int> nested = 0;
  for (int i = 0; i < 200; ++i) {
    executor->submit([&] {
      thread_local bool is_in_task = false;
      if (std::exchange(is_in_task, true)) ++nested;
      tbb::parallel_for(0, 64, [](int) { std::this_thread::yield(); });
      is_in_task = false;
      done.count_down();
    });
  }
  done.wait();
  EXPECT_EQ(nested, 0);
}

TEST(Executor, TheFunctionForNewThreadsMaySubmitTasks) {
  if (!kTbbIsTested) return;
  std::atomic<Executor*> self = nullptr;
  const auto executor = Executor::tbb(0, [&](std::string_view) {
    if (Executor* const made = self.load()) made->submit([] {});
  });
  self = executor.get();
  std::latch done(100);
  for (int i = 0; i < 100; ++i) {
    executor->submit([&] {
      std::this_thread::yield();
      done.count_down();
    });
  }
  done.wait();
}

TEST(Executor, EachThreadSaysItsNameOnce) {
  std::vector<std::function<std::shared_ptr<Executor>(std::function<void(std::string_view)>)>>
      makers = {[](auto tell) { return Executor::threads(2, tell); }};
  if (kTbbIsTested) makers.emplace_back([](auto tell) { return Executor::tbb(2, tell); });
  for (const auto& make : makers) {
    std::mutex mutex;
    std::set<std::thread::id> told;
    std::set<std::thread::id> worked;
    std::latch done(100);
    bool is_twice = false;
    const auto executor = make([&](std::string_view) {
      const std::lock_guard lock(mutex);
      is_twice = !told.insert(std::this_thread::get_id()).second || is_twice;
    });
    for (int i = 0; i < 100; ++i) {
      executor->submit([&] {
        {
          const std::lock_guard lock(mutex);
          worked.insert(std::this_thread::get_id());
        }
        std::this_thread::yield();
        done.count_down();
      });
    }
    done.wait();
    EXPECT_FALSE(is_twice);
    EXPECT_TRUE(std::includes(told.begin(), told.end(), worked.begin(), worked.end()));
  }
}

TEST(Executor, RunsAsManyTasksAtATime) {
  std::vector<std::shared_ptr<Executor>> executors = {Executor::threads(3)};
  if (kTbbIsTested) executors.push_back(Executor::tbb());
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

TEST(Executor, TbbsOwnThreadStartsWithATaskAndEndsWithoutOne) {
  if (!kTbbIsTested) return;
  std::atomic<int> started = 0;
  const auto executor = Executor::tbb(1, [&](std::string_view) { ++started; });
  EXPECT_EQ(started, 0);
  for (int round = 1; round <= 2; ++round) {
    const auto ended = std::make_shared<std::latch>(1);
    use_all_threads(*executor, ended);
    ended->wait();
    EXPECT_EQ(started, round);
  }
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
  const std::vector<int> allowed = test::allowed_cores();
  ASSERT_FALSE(allowed.empty());
  EXPECT_LE(usable_cores(), static_cast<int>(allowed.size()));
  test::on_core(allowed.front(), [] { EXPECT_EQ(usable_cores(), 1); });
}

}  // namespace
}  // namespace infeed::test

// Sanitizers replace the same function; clang doesn't say by a macro that it uses one.
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__) && !defined(__clang__)

namespace infeed::test {
namespace {

/// Threads that the system still gives.
std::atomic<int> threads_left = 1'000'000;

}  // namespace
}  // namespace infeed::test

extern "C" int pthread_create(pthread_t* thread, const pthread_attr_t* attributes,
                              void* (*work)(void*), void* argument) noexcept {
  using Create = int (*)(pthread_t*, const pthread_attr_t*, void* (*)(void*), void*);
  static const auto kReal = reinterpret_cast<Create>(::dlsym(RTLD_NEXT, "pthread_create"));
  if (infeed::test::threads_left.fetch_sub(1) <= 0) return EAGAIN;
  return kReal(thread, attributes, work, argument);
}

namespace infeed::test {
namespace {

/// Returns true once all of some tasks have run.
bool runs_all(Executor& executor) {
  constexpr int kTasks = 5;
  std::latch all(kTasks);
  for (int i = 0; i < kTasks; ++i) executor.submit([&all] { all.count_down(); });
  all.wait();
  return true;
}

/// Ends the process with 0 if all is well: TBB never recovers from a thread that it didn't get.
[[noreturn]] void run_without_workers() {
  threads_left = 1;
  bool is_well = runs_all(*Executor::tbb(2));
  threads_left = 1;
  is_well = runs_all(*Executor::tbb(2)) && is_well;
  threads_left = 0;
  try {
    Executor::tbb(2)->submit([] {});
    is_well = false;
  } catch (const Error& error) {
    is_well = is_well && error.code() == ErrorCode::resource_exhausted;
  }
  std::_Exit(is_well ? 0 : 1);
}

TEST(Executor, TheOwnThreadDoesAllIfTheSystemGivesTbbNone) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");  // a process in which TBB has no worker yet
  EXPECT_EXIT(run_without_workers(), ::testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace infeed::test

#endif
