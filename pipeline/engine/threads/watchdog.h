#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>

#include "engine/iterator_context.h"
#include "engine/threads/periodic_thread.h"

namespace infeed::detail {

/// Looks whether anything moves while the consumer waits. When nothing has for the limit, it fails
/// the run with an Error that says who waits for whom, which wakes the consumer.
///
/// Invariants: moved_ and progress_ belong to the thread.
class Watchdog {
 public:
  Watchdog(IteratorContext& run, std::chrono::milliseconds limit);

  /// The consumer begins to wait, or has got something.
  void consumer_waits(bool waits) { waiting_ = waits; }

 private:
  /// False once it has failed the run.
  bool look();

  IteratorContext& run_;
  const std::chrono::milliseconds limit_;
  std::atomic<bool> waiting_{false};
  std::uint64_t progress_;
  std::chrono::steady_clock::time_point moved_ = std::chrono::steady_clock::now();
  PeriodicThread thread_;  // last: it uses the others
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
