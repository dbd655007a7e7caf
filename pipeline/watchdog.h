#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>

#include "run_context.h"

namespace infeed::detail {

/// Looks whether anything moves while the consumer waits. When nothing has for the limit, it fails
/// the run with an Error that says who waits for whom, which wakes the consumer.
///
/// Invariants: waiting_ and stopping_ are guarded by mutex_. The thread ends with the destructor.
class Watchdog {
 public:
  Watchdog(RunContext& run, std::chrono::milliseconds limit);
  ~Watchdog();
  Watchdog(const Watchdog&) = delete;
  Watchdog& operator=(const Watchdog&) = delete;

  /// The consumer begins to wait, or has got something.
  void consumer_waits(bool waits);

 private:
  void watch();

  RunContext& run_;
  const std::chrono::milliseconds limit_;
  std::mutex mutex_;
  std::condition_variable stop_;
  bool waiting_ = false;
  bool stopping_ = false;
  std::thread thread_;
};

}  // namespace infeed::detail
