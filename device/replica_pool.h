#pragma once

#include <cstdint>
#include <exception>
#include <functional>
#include <thread>
#include <vector>

#include <infeed/detail/hand_off.h>

// Spreads the work of the replicas over threads. The result doesn't depend on which thread runs
// which replica. So any free thread, the caller included, takes the next task.

namespace infeed::detail {

class ReplicaPool {
 public:
  /// The caller counts as one of the `threads` (at least 1).
  explicit ReplicaPool(std::int32_t threads);
  ~ReplicaPool();
  ReplicaPool(const ReplicaPool&) = delete;
  ReplicaPool& operator=(const ReplicaPool&) = delete;

  /// Number of threads that the system gave, including the caller.
  std::int32_t threads() const { return static_cast<std::int32_t>(threads_.size()) + 1; }

  /// Runs task(0) ... task(count - 1), then returns. Once all have ended, throws the exception of
  /// the task with the lowest number. One caller at a time.
  void run(std::int32_t count, const std::function<void(std::int32_t)>& task);

 private:
  void work();
  /// Runs tasks until none is left; the lock is held on entry and exit.
  void take_tasks(std::unique_lock<std::mutex>& lock);

  HandOff hand_off_;
  WaitPoint begun_{hand_off_};
  WaitPoint ended_{hand_off_};
  const std::function<void(std::int32_t)>* task_ = nullptr;
  std::int32_t count_ = 0;
  std::int32_t next_ = 0;
  std::int32_t running_ = 0;
  std::int32_t failed_task_ = 0;
  std::exception_ptr error_;
  std::vector<std::jthread> threads_;
};

}  // namespace infeed::detail
