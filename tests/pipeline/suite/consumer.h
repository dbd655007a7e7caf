#pragma once

#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>

#include "pipeline/suite/stream.h"
#include "pipeline/suite/test_sources.h"

namespace infeed::test {

/// Takes a whole stream in a separate thread, so that the test can look on while it is blocked.
///
/// Thread-safety: only the consumer uses the iterator, but for cancel().
class Consumer {
 public:
  /// `gate`: is told when the consumer is done; may be null.
  explicit Consumer(std::unique_ptr<ShownIterator> iterator, Gate* gate = nullptr)
      : iterator_(std::move(iterator)), gate_(gate), thread_([this] { consume(); }) {}
  template <class T>
  explicit Consumer(Iterator<T> iterator, Gate* gate = nullptr)
      : Consumer(shown(std::move(iterator)), gate) {}
  ~Consumer() {
    iterator_->cancel();
    if (thread_.joinable()) thread_.join();
  }
  Consumer(const Consumer&) = delete;
  Consumer& operator=(const Consumer&) = delete;

  void cancel() { iterator_->cancel(); }

  /// Waits until `count` elements have come. Returns false if they don't within half a minute.
  bool wait_for(std::size_t count) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, std::chrono::seconds(30), [&] {
      return stream_.size() >= count || done_;
    }) && stream_.size() >= count;
  }
  void join() { thread_.join(); }

  Stream stream() const {
    const std::lock_guard lock(mutex_);
    return stream_;
  }
  /// Call it after join(): true if it ended with Error(cancelled) instead of the stream's end.
  bool was_cancelled() const { return was_cancelled_; }
  const ShownIterator& iterator() const { return *iterator_; }

 private:
  void consume() {
    try {
      while (true) {
        Stream one = take_stream(*iterator_, 1);
        if (one.empty()) break;
        const bool last = is_terminal(one.front());
        const std::lock_guard lock(mutex_);
        stream_.push_back(std::move(one.front()));
        changed_.notify_all();
        if (last) break;
      }
    } catch (const Error&) {  // take_stream throws only cancellations
      was_cancelled_ = true;
    }
    {
      const std::lock_guard lock(mutex_);
      done_ = true;
      changed_.notify_all();
    }
    if (gate_ != nullptr) gate_->consumer_is_done();
  }

  const std::unique_ptr<ShownIterator> iterator_;
  Gate* const gate_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  Stream stream_;
  bool done_ = false;
  bool was_cancelled_ = false;
  std::thread thread_;
};

}  // namespace infeed::test
