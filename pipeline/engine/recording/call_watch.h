#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>

#include "engine/recording/recorder.h"
#include "engine/threads/clock.h"

namespace infeed::detail {

/// While it lives the calling thread works for a stage: what it takes itself, without the calls
/// within it, is its own time. Nothing at all where nobody records. It goes around every pull, so
/// that it takes the caller's readings of the clock (10 ns each) rather than its own.
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
    WatchedThread& thread = *std::exchange(thread_, nullptr);
    const std::uint64_t ticks = now_ticks - begin_ticks_;
    const std::uint64_t own = ticks - std::min(ticks, thread.nested_ticks);
    thread.nested_ticks = nested_before_ticks_ + ticks;
    thread.last = {begin_ticks_, ticks};
    thread.stage.store(stage_before_, std::memory_order_relaxed);
    thread.since_ticks.store(stage_before_ == nullptr ? 0 : now_ticks, std::memory_order_relaxed);
    return {begin_ticks_, own};
  }

 private:
  void begin(Recorder& recorder, const StageCounters& counters, std::uint64_t begin_ticks) {
    thread_ = recorder.this_thread();
    if (thread_ == nullptr) return;
    begin_ticks_ = begin_ticks;
    recorder.refresh_usage(*thread_, begin_ticks);
    nested_before_ticks_ = std::exchange(thread_->nested_ticks, 0);
    stage_before_ = thread_->stage.load(std::memory_order_relaxed);
    thread_->stage.store(&counters, std::memory_order_relaxed);
    thread_->since_ticks.store(begin_ticks, std::memory_order_relaxed);
  }

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
