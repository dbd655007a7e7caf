#include <algorithm>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <tbb/global_control.h>
#include <tbb/task_arena.h>
#include <thread>

#include "infeed/pipeline/executor.h"

namespace infeed {
namespace {

/// One arena without a slot for the caller: all work runs in TBB's worker threads.
///
/// Tasks wait in a queue of ours, since TBB can't take back what was enqueued: when all workers of
/// the process are busy (with tasks that use this executor and then let it go, say), what has not
/// begun would never run, and a destructor that waited for it would wait for ever.
///
/// Invariant: the destructor returns when no task runs; those that have not begun are dropped.
class TbbExecutor final : public Executor {
 public:
  explicit TbbExecutor(int thread_count)
      : thread_count_(thread_count),
        // TBB starts one worker fewer than there are cores, because it counts on the caller to
        // work, too. Ours waits.
        // The least of all such limits counts, so a small executor must not ask for a small one.
        workers_(tbb::global_control::max_allowed_parallelism,
                 std::max<std::size_t>(static_cast<std::size_t>(thread_count),
                                       std::thread::hardware_concurrency()) +
                     1),
        arena_(thread_count, /*reserved_for_masters=*/0),
        tasks_(std::make_shared<Tasks>()) {}

  ~TbbExecutor() override {
    std::deque<std::function<void()>> dropped;  // let go after the mutex
    std::unique_lock lock(tasks_->mutex);
    dropped.swap(tasks_->waiting);
    tasks_->none_runs.wait(lock, [this] { return tasks_->running == 0; });
  }

  void submit(std::function<void()> task) override {
    {
      const std::lock_guard lock(tasks_->mutex);
      tasks_->waiting.push_back(std::move(task));
    }
    arena_.enqueue([tasks = tasks_] { tasks->run_next(); });
  }

  int concurrency() const override { return thread_count_; }

 private:
  struct Tasks {
    std::mutex mutex;
    std::condition_variable none_runs;
    std::deque<std::function<void()>> waiting;
    int running = 0;

    void run_next() {
      std::unique_lock lock(mutex);
      if (waiting.empty()) return;
      std::function<void()> task = std::move(waiting.front());
      waiting.pop_front();
      ++running;
      lock.unlock();
      task();
      task = nullptr;  // what it holds is let go outside the lock
      lock.lock();
      if (--running == 0) none_runs.notify_all();
    }
  };

  const int thread_count_;
  tbb::global_control workers_;
  tbb::task_arena arena_;
  const std::shared_ptr<Tasks> tasks_;
};

}  // namespace

std::shared_ptr<Executor> Executor::tbb(int thread_count) {
  return std::make_shared<TbbExecutor>(thread_count > 0 ? thread_count : usable_cores());
}

std::shared_ptr<Executor> Executor::make_default() {
#if defined(__SANITIZE_THREAD__)
  return threads();
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
  return threads();
#else
  return tbb();
#endif
#else
  return tbb();
#endif
}

}  // namespace infeed
