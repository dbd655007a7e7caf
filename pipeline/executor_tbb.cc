#include <tbb/task_arena.h>

#include <atomic>
#include <thread>

#include "infeed/pipeline/executor.h"

namespace infeed {
namespace {

/// One arena without a slot for the caller: all work runs in TBB's worker threads.
///
/// Invariant: the destructor returns only when every submitted task has run; an arena that goes
/// away earlier would still have tasks whose captures it keeps alive.
class TbbExecutor final : public Executor {
 public:
  explicit TbbExecutor(int thread_count)
      : thread_count_(thread_count), arena_(thread_count, /*reserved_for_masters=*/0) {}

  ~TbbExecutor() override {
    for (int left = pending_.load(); left != 0; left = pending_.load()) pending_.wait(left);
  }

  void submit(std::function<void()> task) override {
    pending_.fetch_add(1);
    arena_.enqueue([this, task = std::move(task)]() mutable {
      task();
      task = nullptr;
      if (pending_.fetch_sub(1) == 1) pending_.notify_all();
    });
  }

  int concurrency() const override { return thread_count_; }

 private:
  const int thread_count_;
  tbb::task_arena arena_;
  std::atomic<int> pending_{0};
};

}  // namespace

std::shared_ptr<Executor> Executor::tbb(int thread_count) {
  return std::make_shared<TbbExecutor>(thread_count > 0 ? thread_count : usable_cores());
}

}  // namespace infeed
