#include "replica_pool.h"

#include <infeed/detail/start_threads.h>

namespace infeed::detail {

ReplicaPool::ReplicaPool(std::int32_t threads) {
  // The caller does the work of threads that the system doesn't give.
  start_threads(
      threads_, static_cast<std::size_t>(threads - 1), [this] { work(); },
      /*threads_min=*/0);
}

ReplicaPool::~ReplicaPool() {
  hand_off_.stop();
  threads_.clear();  // joins
}

void ReplicaPool::run(std::int32_t count, const std::function<void(std::int32_t)>& task) {
  auto lock = hand_off_.lock();
  task_ = &task;
  count_ = count;
  next_ = 0;
  error_ = nullptr;
  if (count > 1) begun_.wake_all();
  take_tasks(lock);
  ended_.wait(lock, [this] { return running_ == 0; });
  if (error_) std::rethrow_exception(error_);
}

void ReplicaPool::work() {
  auto lock = hand_off_.lock();
  while (begun_.wait(lock, [this] { return next_ < count_; })) {
    take_tasks(lock);
    if (running_ == 0) ended_.wake_one();
  }
}

void ReplicaPool::take_tasks(std::unique_lock<std::mutex>& lock) {
  while (next_ < count_) {
    const std::int32_t number = next_++;
    ++running_;
    lock.unlock();
    std::exception_ptr error;
    try {
      (*task_)(number);
    } catch (...) {
      error = std::current_exception();
    }
    lock.lock();
    --running_;
    if (error && (!error_ || number < failed_task_)) {
      error_ = error;
      failed_task_ = number;
    }
  }
}

}  // namespace infeed::detail
