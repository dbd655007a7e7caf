#pragma once

#include <atomic>
#include <functional>
#include <list>
#include <mutex>

#include <infeed/pipeline/chunk.h>
#include <infeed/pipeline/stage_context.h>

namespace infeed::detail {

/// The end of a run before its data are over: asked for, or with an error.
///
/// Invariants: cancelled() only ever goes from false to true. A waker runs at most once at a time,
/// and never after remove_waker() has returned. One that is added behind cancel() runs at once.
class Cancellation {
 public:
  bool cancelled() const { return cancelled_.load(std::memory_order_acquire); }
  void cancel();
  /// Ends the run at once, as cancel() does, with this error. Only the first error counts.
  void fail(ErrorPointer error);
  /// Returns the error that fail() was given, or null.
  ErrorPointer failure() const;

  /// For CancellationWaker.
  using WakerPlace = CancellationWaker::Place;
  WakerPlace add_waker(std::function<void()> wake);
  void remove_waker(WakerPlace place);

 private:
  std::atomic<bool> cancelled_{false};
  mutable std::mutex failure_mutex_;
  ErrorPointer failure_;
  std::mutex wakers_mutex_;
  std::list<std::function<void()>> wakers_;
};

}  // namespace infeed::detail
