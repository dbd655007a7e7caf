#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>

#include "engine/iterator_context.h"
#include "engine/threads/periodic_thread.h"

namespace infeed::detail {

/// Checks that something moves while the consumer waits. If nothing has moved for the limit, it
/// fails the run with an Error that says who waits for whom. That wakes the consumer. It looks eight
/// times within the limit, but at most once a millisecond: a limit below 8 ms is seen up to 1 ms late.
///
/// Invariants: only the watchdog's thread uses moved_ and progress_.
class Watchdog {
 public:
  Watchdog(IteratorContext& run, std::chrono::milliseconds limit);

  /// Says that the consumer begins to wait, or has got something.
  void consumer_waits(bool waits) { waiting_ = waits; }

 private:
  /// Returns false once it has failed the run.
  bool look();

  IteratorContext& run_;
  const std::chrono::milliseconds limit_;
  std::atomic<bool> waiting_{false};
  std::uint64_t progress_;
  std::chrono::steady_clock::time_point moved_ = std::chrono::steady_clock::now();
  PeriodicThread thread_;  // last: it uses the members above
};

/// Tells the watchdog that the consumer waits, while the object lives. `watchdog` may be null.
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
