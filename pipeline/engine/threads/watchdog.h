#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>

#include "engine/iterator_context.h"

namespace infeed::detail {

/// Looks whether anything moves while the consumer waits. When nothing has for the limit, it fails
/// the run with an Error that says who waits for whom, which wakes the consumer.
///
/// Invariants: waiting_ and stopping_ are guarded by mutex_. The thread ends with the destructor.
class Watchdog {
 public:
  Watchdog(IteratorContext& run, std::chrono::milliseconds limit);
  ~Watchdog();
  Watchdog(const Watchdog&) = delete;
  Watchdog& operator=(const Watchdog&) = delete;

  /// The consumer begins to wait, or has got something.
  void consumer_waits(bool waits);

 private:
  void watch();

  IteratorContext& run_;
  const std::chrono::milliseconds limit_;
  std::mutex mutex_;
  std::condition_variable stop_;
  bool waiting_ = false;
  bool stopping_ = false;
  std::thread thread_;
};

/// While it lives the consumer waits; `watchdog` may be null.
class Waiting {
 public:
  explicit Waiting(Watchdog* watchdog) : watchdog_(watchdog) { tell(true); }
  ~Waiting() { tell(false); }
  Waiting(const Waiting&) = delete;
  Waiting& operator=(const Waiting&) = delete;

 private:
  void tell(bool waits) {
    if (watchdog_ != nullptr) watchdog_->consumer_waits(waits);
  }
  Watchdog* const watchdog_;
};

}  // namespace infeed::detail
