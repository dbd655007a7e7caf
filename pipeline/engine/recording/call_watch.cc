#include "engine/recording/call_watch.h"

#include <algorithm>

#include "engine/recording/recorder.h"

namespace infeed::detail {

void CallWatch::begin(Recorder& recorder, const StageCounters& counters) {
  thread_ = recorder.this_thread();
  if (thread_ == nullptr) return;
  begin_ticks_ = ticks_now();
  recorder.refresh_usage(*thread_, begin_ticks_);
  nested_before_ticks_ = std::exchange(thread_->nested_ticks, 0);
  stage_before_ = thread_->stage.load(std::memory_order_relaxed);
  thread_->stage.store(&counters, std::memory_order_relaxed);
  thread_->since_ticks.store(begin_ticks_, std::memory_order_relaxed);
}

OwnTime CallWatch::end() {
  WatchedThread& thread = *std::exchange(thread_, nullptr);
  const std::uint64_t now = ticks_now();
  const std::uint64_t ticks = now - begin_ticks_;
  const std::uint64_t own = ticks - std::min(ticks, thread.nested_ticks);
  thread.nested_ticks = nested_before_ticks_ + ticks;
  thread.stage.store(stage_before_, std::memory_order_relaxed);
  thread.since_ticks.store(stage_before_ == nullptr ? 0 : now, std::memory_order_relaxed);
  return {begin_ticks_, own};
}

WaitWatch::WaitWatch(Recorder* recorder) {
  if (recorder == nullptr) return;
  thread_ = recorder->this_thread();
  if (thread_ == nullptr) return;
  begin_ticks_ = ticks_now();
  thread_->since_ticks.store(0, std::memory_order_relaxed);
}

WaitWatch::~WaitWatch() {
  if (thread_ == nullptr) return;
  const std::uint64_t now = ticks_now();
  thread_->nested_ticks += now - begin_ticks_;
  const bool is_inside = thread_->stage.load(std::memory_order_relaxed) != nullptr;
  thread_->since_ticks.store(is_inside ? now : 0, std::memory_order_relaxed);
}

}  // namespace infeed::detail
