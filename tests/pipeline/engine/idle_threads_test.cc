#include <condition_variable>
#include <gtest/gtest.h>
#include <memory>
#include <mutex>
#include <string_view>
#include <vector>

#include <infeed/infeed.h>

#include "pipeline/suite/executors.h"

// Threads of an iterator whose consumer is away.
namespace infeed::test {
namespace {

/// Counts the threads of an iterator that are there, without those that TBB keeps.
class LiveThreads {
 public:
  auto listener() {
    return [state = state_](std::string_view name) {
      if (name == "tbb worker") return;
      const std::lock_guard lock(state->mutex);
      ++state->live;
      ++state->started;
      thread_local AtThreadEnd end;
      end.state = state;
    };
  }
  void wait_until_at_most(int count) {
    std::unique_lock lock(state_->mutex);
    state_->one_ended.wait(lock, [&] { return state_->live <= count; });
  }
  int started() {
    const std::lock_guard lock(state_->mutex);
    return state_->started;
  }

 private:
  struct State {
    std::mutex mutex;
    std::condition_variable one_ended;
    int live = 0;
    int started = 0;
  };
  struct AtThreadEnd {
    std::shared_ptr<State> state;
    ~AtThreadEnd() {
      if (state == nullptr) return;
      const std::lock_guard lock(state->mutex);
      --state->live;
      state->one_ended.notify_all();
    }
  };

  std::shared_ptr<State> state_ = std::make_shared<State>();
};

struct Number {
  std::int64_t value;
};

Dataset<Batch<Number>> with_many_threads() {
  const auto inner = [](std::int64_t first) { return range(first, first + 1000); };
  const auto plus_one = [](std::int64_t x) { return x + 1; };
  const auto fill = [](std::int64_t x, const Row<Number>& row) { row.column(&Number::value) = x; };
  return range(0, 1'000'000, 1000) | interleave(inner, {.cycle_length = 2, .parallelism = 2}) |
         map(plus_one, {.parallelism = autotune}) | prefetch(4) |
         map(plus_one, {.parallelism = 2}) | batch_into<Number>(10, fill, {.parallelism = 2}) |
         prefetch();
}

TEST(IdleThreads, EndWhileTheConsumerIsAwayAndComeAgain) {
  const auto dataset = with_many_threads();
  const auto values_of = [](auto& iterator, int batches) {
    std::vector<std::int64_t> values;
    for (int i = 0; i < batches; ++i) {
      const auto batch = iterator.next();
      for (const std::int64_t value : batch->column(&Number::value)) values.push_back(value);
    }
    return values;
  };
  auto expected = dataset.iterate({.executor = Executor::inline_()});
  LiveThreads threads;
  auto iterator = dataset.iterate({.on_thread_start = threads.listener()});
  for (int round = 1; round <= 2; ++round) {
    const int before = threads.started();
    EXPECT_EQ(values_of(iterator, 500), values_of(expected, 500));
    // The consumer does what no thread has begun, so on a busy machine not all of them come.
    EXPECT_GT(threads.started(), before);
    // An executor of plain threads keeps one.
    threads.wait_until_at_most(kTbbIsTested ? 0 : 1);
  }
}

}  // namespace
}  // namespace infeed::test
