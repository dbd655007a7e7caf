#pragma once

#include <cstdint>
#include <utility>

#include "engine/recording/recorder.h"
#include "engine/threads/clock.h"

namespace infeed::detail {

/// Marks the calling thread, while it lives, as working for a stage. The call's own time is its
/// time without the calls within it. Does nothing if nobody records. It takes the caller's readings
/// of the clock (10 ns each) rather than its own.
class CallWatch {
 public:
  CallWatch(Recorder* recorder, const StageCounters& counters, std::uint64_t begin_ticks) {
    if (recorder != nullptr) begin(*recorder, counters, begin_ticks);
  }
  CallWatch(Recorder* recorder, const StageCounters& counters) {
    if (recorder != nullptr) begin(*recorder, counters, ticks_now());
  }
  ~CallWatch() {
    if (thread_ != nullptr) end(ticks_now());
  }
  CallWatch(const CallWatch&) = delete;
  CallWatch& operator=(const CallWatch&) = delete;

  bool is_on() const { return thread_ != nullptr; }
  /// Ends the call and returns its own time. To be called once, if is_on().
  OwnTime end(std::uint64_t now_ticks) {
    return std::exchange(thread_, nullptr)->leave(before_, begin_ticks_, now_ticks);
  }

 private:
  void begin(Recorder& recorder, const StageCounters& counters, std::uint64_t begin_ticks) {
    thread_ = recorder.threads().this_thread(begin_ticks);
    if (thread_ == nullptr) return;
    begin_ticks_ = begin_ticks;
    before_ = thread_->enter(counters, begin_ticks);
  }

  WatchedThread* thread_ = nullptr;
  std::uint64_t begin_ticks_ = 0;
  WatchedThread::Before before_{};
};

/// Marks the calling thread, while it lives, as waiting for another one. That is nobody's own time.
class WaitWatch {
 public:
  explicit WaitWatch(Recorder* recorder);
  ~WaitWatch();
  WaitWatch(const WaitWatch&) = delete;
  WaitWatch& operator=(const WaitWatch&) = delete;

 private:
  Recorder* recorder_ = nullptr;
  WatchedThread* thread_ = nullptr;
  std::uint64_t begin_ticks_ = 0;
};

}  // namespace infeed::detail
