#pragma once

#include <cstdint>
#include <exception>
#include <functional>
#include <thread>
#include <vector>

#include <infeed/detail/hand_off.h>

// Spreads the work of the replicas over threads. Which thread runs which replica changes nothing in
// the result; so tasks are simply taken in order by whoever is free, the caller included.

namespace infeed::detail {

class ReplicaPool {
 public:
  /// The caller counts as one of the `threads` (at least 1).
  explicit ReplicaPool(std::int32_t threads);
  ~ReplicaPool();
  ReplicaPool(const ReplicaPool&) = delete;
  ReplicaPool& operator=(const ReplicaPool&) = delete;

  /// Those that the system gave, the caller among them.
  std::int32_t threads() const { return static_cast<std::int32_t>(threads_.size()) + 1; }

  /// task(0) ... task(count - 1), then returns. What a task throws is thrown here once all have
  /// ended; of several, the one of the lowest number. One caller at a time.
  void run(std::int32_t count, const std::function<void(std::int32_t)>& task);

 private:
  void work();
  /// Runs tasks until none is left to take; the lock is held on entry and exit.
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
