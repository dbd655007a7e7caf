#include <deque>
#include <string_view>
#include <thread>
#include <vector>

#include <infeed/detail/begin_thread.h>
#include <infeed/detail/hand_off.h>
#include <infeed/detail/start_threads.h>

#include "infeed/pipeline/executor.h"

namespace infeed {
namespace {

/// Invariants: tasks_ is guarded by hand_off_. A task runs without the lock. The
/// destructor runs what was submitted before it, so that nobody waits for a task that never comes.
class ThreadExecutor final : public Executor {
 public:
  ThreadExecutor(int thread_count, std::function<void(std::string_view)> on_thread_start)
      : on_thread_start_(std::move(on_thread_start)) {
    detail::start_threads(threads_, static_cast<std::size_t>(thread_count), [this] { run(); });
  }

  ~ThreadExecutor() override {
    hand_off_.finish();
    for (std::thread& thread : threads_) thread.join();
  }

  void submit(std::function<void()> task) override {
    {
      const auto lock = hand_off_.lock();
      tasks_.push_back(std::move(task));
    }
    work_.wake_one();
  }

  int concurrency() const override { return static_cast<int>(threads_.size()); }

 private:
  void run() {
    detail::begin_thread("worker", on_thread_start_);
    auto lock = hand_off_.lock();
    while (work_.wait(lock, [this] { return hand_off_.finished() || !tasks_.empty(); })) {
      if (tasks_.empty()) return;
      std::function<void()> task = std::move(tasks_.front());
      tasks_.pop_front();
      lock.unlock();
      task();
      task = nullptr;  // what it holds is let go outside the lock
      lock.lock();
    }
  }

  const std::function<void(std::string_view)> on_thread_start_;
  detail::HandOff hand_off_;
  detail::WaitPoint work_{hand_off_};
  std::deque<std::function<void()>> tasks_;
  std::vector<std::thread> threads_;
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
