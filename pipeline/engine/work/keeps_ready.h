#pragma once

#include <chrono>

namespace infeed::detail {

/// A stage whose own threads keep its next elements ready: prefetch, and batches whose rows are filled
/// by threads. Behind it nobody need work ahead, also for a consumer that must look at something else
/// now and then (Python's signals).
class KeepsReady {
 public:
  static constexpr std::chrono::nanoseconds kForever = std::chrono::hours(24 * 365);

  virtual ~KeepsReady() = default;

  /// Lets pull() return Pull::values without an element once it has waited so long for the threads.
  /// Where the tuner has turned these off, pull() does the work itself, however long that takes: a
  /// few microseconds, or it wouldn't have. Only the iterator that pulls the stage asks for it.
  /// Returns false for a stage that has no threads in this run.
  virtual bool return_after(std::chrono::nanoseconds wait_max) = 0;
};

}  // namespace infeed::detail
