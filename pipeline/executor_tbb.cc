#include <condition_variable>
#include <mutex>
#include <tbb/global_control.h>
#include <tbb/task_arena.h>

#include "infeed/pipeline/executor.h"

namespace infeed {
namespace {

/// One arena without a slot for the caller: all work runs in TBB's worker threads.
///
/// Invariant: the destructor returns only when every submitted task has run; an arena that goes
/// away earlier would keep alive what they captured.
class TbbExecutor final : public Executor {
 public:
  explicit TbbExecutor(int thread_count)
      : thread_count_(thread_count),
        // TBB starts one worker fewer than there are cores, because it counts on the caller to
        // work, too. Ours waits.
        workers_(tbb::global_control::max_allowed_parallelism,
                 static_cast<std::size_t>(thread_count) + 1),
        arena_(thread_count, /*reserved_for_masters=*/0),
        pending_(std::make_shared<Pending>()) {}

  ~TbbExecutor() override {
    std::unique_lock lock(pending_->mutex);
    pending_->none.wait(lock, [this] { return pending_->count == 0; });
  }

  void submit(std::function<void()> task) override {
    {
      const std::lock_guard lock(pending_->mutex);
      ++pending_->count;
    }
    // The last task may still hold `pending` when the executor is already gone.
    arena_.enqueue(
        [pending = pending_, shared = std::make_shared<std::function<void()>>(std::move(task))] {
          (*shared)();
          *shared = nullptr;
          const std::lock_guard lock(pending->mutex);
          if (--pending->count == 0) pending->none.notify_all();
        });
  }

  int concurrency() const override { return thread_count_; }

 private:
  struct Pending {
    std::mutex mutex;
    std::condition_variable none;
    int count = 0;
  };

  const int thread_count_;
  tbb::global_control workers_;
  tbb::task_arena arena_;
  std::shared_ptr<Pending> pending_;
};

}  // namespace

std::shared_ptr<Executor> Executor::tbb(int thread_count) {
  return std::make_shared<TbbExecutor>(thread_count > 0 ? thread_count : usable_cores());
}

}  // namespace infeed
