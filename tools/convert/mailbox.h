#pragma once

#include <algorithm>
#include <condition_variable>
#include <cstddef>
#include <deque>
#include <mutex>
#include <optional>
#include <stop_token>
#include <utility>

namespace infeed::tools {

/// A queue between threads of one process, which tells how many threads wait for more.
/// Thread-safety: any thread.
template <typename T>
class Mailbox {
 public:
  void put(T item) {
    const std::lock_guard lock(mutex_);
    items_.push_back(std::move(item));
    changed_.notify_one();
  }
  /// Returns an item; nothing after a stop, or once all are taken behind close().
  std::optional<T> wait(const std::stop_token& stop = {}) {
    std::unique_lock lock(mutex_);
    ++waiting_;
    changed_.wait(lock, stop, [this] { return !items_.empty() || is_closed_; });
    --waiting_;
    return stop.stop_requested() ? std::nullopt : first();
  }
  /// Returns an item; nothing if there is none at this moment.
  std::optional<T> take() {
    const std::lock_guard lock(mutex_);
    return first();
  }
  void close() {
    const std::lock_guard lock(mutex_);
    is_closed_ = true;
    changed_.notify_all();
  }
  /// Returns the number of threads in wait() for which there is no item.
  std::size_t waiting() {
    const std::lock_guard lock(mutex_);
    return waiting_ - std::min(waiting_, items_.size());
  }

 private:
  std::optional<T> first() {
    if (items_.empty()) return std::nullopt;
    std::optional<T> item(std::move(items_.front()));
    items_.pop_front();
    return item;
  }

  std::mutex mutex_;
  std::condition_variable_any changed_;
  std::deque<T> items_;
  std::size_t waiting_ = 0;
  bool is_closed_ = false;
};

}  // namespace infeed::tools
