#pragma once

#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>

#include <infeed/pipeline/executor.h>

namespace infeed::detail {

/// Tasks in an executor that work for an object. They may begin late, even after the object is
/// destroyed; then they do nothing.
///
///     ExecutorTasks tasks(run.executor(), [this] { run_jobs(); });  // the owner's last member
///     tasks.submit();
///
/// The destructor waits for tasks that have begun, never for those that have not: it may run in the
/// executor's only thread (if a user's function iterates a dataset of its own).
class ExecutorTasks {
 public:
  ExecutorTasks(Executor& executor, std::function<void()> work)
      : executor_(executor), lifeline_(std::make_shared<Lifeline>(std::move(work))) {}
  ~ExecutorTasks() {
    std::unique_lock lock(lifeline_->mutex);
    lifeline_->is_cut = true;
    lifeline_->nobody_works.wait(lock, [this] { return lifeline_->at_work == 0; });
  }
  ExecutorTasks(const ExecutorTasks&) = delete;
  ExecutorTasks& operator=(const ExecutorTasks&) = delete;

  /// Submits one task. The executor may run it at once, inside this call.
  void submit() {
    executor_.submit([lifeline = lifeline_] { lifeline->work_once(); });
  }

 private:
  /// The part that submitted tasks hold.
  struct Lifeline {
    explicit Lifeline(std::function<void()> of_owner) : work(std::move(of_owner)) {}

    void work_once() {
      {
        const std::lock_guard lock(mutex);
        if (is_cut) return;
        ++at_work;
      }
      work();
      const std::lock_guard lock(mutex);
      if (--at_work == 0) nobody_works.notify_all();
    }

    const std::function<void()> work;
    std::mutex mutex;
    std::condition_variable nobody_works;
    bool is_cut = false;
    int at_work = 0;
  };

  Executor& executor_;
  const std::shared_ptr<Lifeline> lifeline_;
};

}  // namespace infeed::detail
