#pragma once

#include <atomic>
#include <cstdint>

#include "engine/threads/clock.h"

namespace infeed::detail {

struct StageCounters;
class Recorder;

/// What a thread has used so far, by the kernel's accounts.
struct ThreadUsage {
  std::uint64_t at_ticks = 0;
  std::uint64_t cpu_ns = 0;
  std::uint64_t ready_ns = 0;  ///< it could have run, but had no core
};

/// A thread that works for an iterator that records.
///
/// Invariants: the atomics are written by the thread and read by the recorder's; the rest is the
/// thread's own.
struct alignas(64) WatchedThread {
  std::atomic<std::uint64_t> since_ticks{0};  ///< it is in its own work since then; 0: it isn't
  std::atomic<const StageCounters*> stage{nullptr};
  int thread = 0;                  ///< gettid()
  int schedstat = -1;              ///< /proc/thread-self/schedstat
  std::uint64_t nested_ticks = 0;  ///< of the call at hand: spent in others, or waiting for them
  ThreadUsage usage;
};

/// What a call took itself.
struct OwnTime {
  std::uint64_t begin_ticks = 0;
  std::uint64_t ticks = 0;  ///< without what it called
};

/// While it lives the calling thread works for a stage: what it takes itself, without the calls
/// within it, is its own time. Nothing at all where nobody records.
class CallWatch {
 public:
  CallWatch(Recorder* recorder, const StageCounters& counters) {
    if (recorder != nullptr) begin(*recorder, counters);
  }
  ~CallWatch() {
    if (thread_ != nullptr) end();
  }
  CallWatch(const CallWatch&) = delete;
  CallWatch& operator=(const CallWatch&) = delete;

  bool is_on() const { return thread_ != nullptr; }
  /// Only once, when the call is over.
  OwnTime end();
  WatchedThread& thread() const { return *thread_; }

 private:
  void begin(Recorder& recorder, const StageCounters& counters);

  WatchedThread* thread_ = nullptr;
  std::uint64_t begin_ticks_ = 0;
  std::uint64_t nested_before_ticks_ = 0;
  const StageCounters* stage_before_ = nullptr;
};

/// While it lives the calling thread waits for another one, which is nobody's own time.
class WaitWatch {
 public:
  explicit WaitWatch(Recorder* recorder);
  ~WaitWatch();
  WaitWatch(const WaitWatch&) = delete;
  WaitWatch& operator=(const WaitWatch&) = delete;

 private:
  WatchedThread* thread_ = nullptr;
  std::uint64_t begin_ticks_ = 0;
};

}  // namespace infeed::detail
