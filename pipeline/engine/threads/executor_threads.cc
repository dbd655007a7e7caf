#include <algorithm>
#include <chrono>
#include <deque>
#include <list>
#include <string_view>
#include <thread>

#include <infeed/detail/begin_thread.h>
#include <infeed/detail/hand_off.h>
#include <infeed/detail/start_threads.h>

#include "infeed/pipeline/executor.h"

namespace infeed {
namespace {

// The longest idle time of a thread. After a longer pause of the pipeline a thread is started
// again, which takes 30 us.
constexpr std::chrono::seconds kIdleMax{1};

/// Starts threads as tasks come, up to `thread_count`. A thread ends when it has had nothing to do
/// for a while; one thread stays. So when a tuner makes a stage serial, the threads of its parallel
/// form go.
///
/// Invariants: hand_off_ guards tasks_, workers_ and idle_. A task runs without the lock. The
/// destructor runs all tasks submitted before it, so that nobody waits for a task that never comes.
class ThreadExecutor final : public Executor {
 public:
  ThreadExecutor(int thread_count, std::function<void(std::string_view)> on_thread_start)
      : thread_count_(static_cast<std::size_t>(thread_count)),
        on_thread_start_(std::move(on_thread_start)) {
    const auto lock = hand_off_.lock();
    add_worker();
  }

  ~ThreadExecutor() override {
    hand_off_.finish();
    for (Worker& worker : workers_) worker.thread.join();
  }

  void submit(std::function<void()> task) override {
    {
      const auto lock = hand_off_.lock();
      tasks_.push_back(std::move(task));
      if (tasks_.size() > idle_) add_worker_if_there_may_be();
    }
    work_.wake_one();
  }

  int concurrency() const override { return static_cast<int>(thread_count_); }

 private:
  struct Worker {
    std::thread thread;
    bool has_ended = false;
  };

  void add_worker() {
    Worker& worker = workers_.emplace_back();
    try {
      worker.thread = detail::start_thread([this, &worker] { run(worker); });
    } catch (...) {
      workers_.pop_back();
      throw;
    }
  }

  /// Starts one more worker. If the system gives no thread, the existing ones do the work.
  void add_worker_if_there_may_be() {
    std::erase_if(workers_, [](Worker& worker) {
      if (worker.has_ended) worker.thread.join();  // it has released the lock
      return worker.has_ended;
    });
    if (workers_.size() >= thread_count_) return;
    try {
      add_worker();
    } catch (const Error&) {
    }
  }

  void run(Worker& worker) {
    detail::begin_thread("worker", on_thread_start_);
    auto lock = hand_off_.lock();
    while (wait_for_task(lock)) {
      std::function<void()> task = std::move(tasks_.front());
      tasks_.pop_front();
      lock.unlock();
      task();
      task = nullptr;  // destroys what it holds outside the lock
      lock.lock();
    }
    worker.has_ended = true;
  }

  /// Returns false if there is no task, and the thread may end.
  bool wait_for_task(std::unique_lock<std::mutex>& lock) {
    const auto idle_until = std::chrono::steady_clock::now() + kIdleMax;
    ++idle_;
    bool is_in_time = true;
    while (tasks_.empty() && !hand_off_.finished() && (is_in_time || is_the_last())) {
      if (is_in_time) {
        is_in_time = work_.wait_once_until(lock, idle_until);
      } else {
        work_.wait_once(lock);
      }
    }
    --idle_;
    return !tasks_.empty();
  }

  bool is_the_last() const {
    return std::count_if(workers_.begin(), workers_.end(),
                         [](const Worker& worker) { return !worker.has_ended; }) == 1;
  }

  const std::size_t thread_count_;
  const std::function<void(std::string_view)> on_thread_start_;
  detail::HandOff hand_off_;
  detail::WaitPoint work_{hand_off_};
  std::deque<std::function<void()>> tasks_;
  std::list<Worker> workers_;
  std::size_t idle_ = 0;  ///< idle ones of workers_
};

class InlineExecutor final : public Executor {
 public:
  void submit(std::function<void()> task) override { task(); }
  int concurrency() const override { return 0; }
};

}  // namespace

std::shared_ptr<Executor> Executor::threads(int thread_count,
                                            std::function<void(std::string_view)> on_thread_start) {
  return std::make_shared<ThreadExecutor>(thread_count > 0 ? thread_count : usable_cores(),
                                          std::move(on_thread_start));
}

std::shared_ptr<Executor> Executor::inline_() { return std::make_shared<InlineExecutor>(); }

}  // namespace infeed
