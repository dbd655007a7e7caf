#pragma once

#include <cstdint>
#include <utility>

#include "engine/recording/recorder.h"
#include "engine/threads/clock.h"

namespace infeed::detail {

/// While it lives the calling thread works for a stage: what it takes itself, without the calls
/// within it, is its own time. Nothing at all where nobody records. It takes the caller's readings
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
  /// Only once, when the call is over.
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

/// While it lives the calling thread waits for another one, which is nobody's own time.
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
