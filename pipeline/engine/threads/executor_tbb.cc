#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <tbb/global_control.h>
#include <tbb/task_arena.h>
#include <thread>

#include "infeed/pipeline/executor.h"

#if defined(__SANITIZE_ADDRESS__)
#define INFEED_LEAKS_ARE_CHECKED
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define INFEED_LEAKS_ARE_CHECKED
#endif
#endif
#if defined(INFEED_LEAKS_ARE_CHECKED)
#include <sanitizer/lsan_interface.h>
#endif

namespace infeed {
namespace {

/// Runs tasks in one TBB arena without a slot for the caller: all work runs in TBB's worker
/// threads.
///
/// Tasks wait in a queue of this class, since TBB can't take back a task that was enqueued. All
/// workers of the process may be busy, for example with tasks that use this executor and then drop
/// it. Tasks that have not begun would then never run, and a destructor that waited for them would
/// wait for ever.
///
/// Invariant: the destructor returns when no task runs. Tasks that have not begun are dropped.
class TbbExecutor final : public Executor {
 public:
  TbbExecutor(int thread_count, TbbWorkers workers)
      : workers_(workers == TbbWorkers::one_more ? raised_limit(thread_count) : nullptr),
        thread_count_(std::min(thread_count, workers_there_may_be())),
        arena_(thread_count_, /*reserved_for_masters=*/0),
        tasks_(std::make_unique<Tasks>()) {}

  ~TbbExecutor() override {
    std::deque<std::function<void()>> dropped;  // destroyed after the mutex is unlocked
    std::unique_lock lock(tasks_->mutex);
    dropped.swap(tasks_->waiting);
    tasks_->changed.wait(lock, [this] { return tasks_->running == 0; });
    // Calls that TBB still holds find nothing to do and end within microseconds. At the program's
    // end, however, TBB never makes them, so the wait has a limit. A worker doesn't wait at all,
    // since all workers may be busy.
    constexpr std::chrono::milliseconds kGrace{50};
    const auto are_gone = [this] { return tasks_->held_by_tbb == 0; };
    if (is_worker() ? !are_gone() : !tasks_->changed.wait_for(lock, kGrace, are_gone)) {
      tasks_->is_abandoned = true;
      leave_to_tbb(tasks_.release());
    }
  }

  void submit(std::function<void()> task) override {
    {
      const std::lock_guard lock(tasks_->mutex);
      tasks_->waiting.push_back(std::move(task));
      ++tasks_->held_by_tbb;
    }
    arena_.enqueue([tasks = tasks_.get()] { tasks->run_next(); });
  }

  int concurrency() const override { return thread_count_; }

 private:
  struct Tasks {
    std::mutex mutex;
    std::condition_variable changed;
    std::deque<std::function<void()>> waiting;
    int running = 0;
    int held_by_tbb = 0;  ///< calls of run_next() that have not begun
    bool is_abandoned = false;

    void run_next() {
      std::unique_lock lock(mutex);
      --held_by_tbb;
      if (waiting.empty()) {
        const bool is_last = held_by_tbb == 0;
        if (is_last && is_abandoned) {
          lock.unlock();
          delete this;
        } else if (is_last) {
          changed.notify_all();
        }
        return;
      }
      std::function<void()> task = std::move(waiting.front());
      waiting.pop_front();
      ++running;
      lock.unlock();
      task();
      task = nullptr;  // destroys what it holds outside the lock
      lock.lock();
      if (--running == 0) changed.notify_all();
    }
  };

  /// Leaves the tasks to TBB: the last call that TBB holds frees them. At the program's end TBB
  /// makes no more calls, and a leak checker shouldn't report the tasks then.
  static void leave_to_tbb([[maybe_unused]] Tasks* tasks) {
#if defined(INFEED_LEAKS_ARE_CHECKED)
    __lsan_ignore_object(tasks);
#endif
  }

  static std::unique_ptr<tbb::global_control> raised_limit(int thread_count) {
    // The smallest of all such limits applies, so a small executor must not ask for a small one.
    const std::size_t cores = std::max<std::size_t>(static_cast<std::size_t>(thread_count),
                                                    std::thread::hardware_concurrency());
    return std::make_unique<tbb::global_control>(tbb::global_control::max_allowed_parallelism,
                                                 cores + 1);
  }
  /// Returns the most workers that TBB will start. An arena that asks for more gets no more, and
  /// TBB prints a warning.
  static int workers_there_may_be() {
    const std::size_t most =
        tbb::global_control::active_value(tbb::global_control::max_allowed_parallelism);
    return static_cast<int>(std::max<std::size_t>(most, 2)) - 1;
  }
  static bool is_worker() {
    return tbb::this_task_arena::current_thread_index() != tbb::task_arena::not_initialized;
  }

  const std::unique_ptr<tbb::global_control> workers_;  // first: the arena depends on its limit
  const int thread_count_;
  tbb::task_arena arena_;
  std::unique_ptr<Tasks> tasks_;
};

}  // namespace

std::shared_ptr<Executor> Executor::tbb(int thread_count, TbbWorkers workers) {
  return std::make_shared<TbbExecutor>(thread_count > 0 ? thread_count : usable_cores(), workers);
}

}  // namespace infeed
