#include "engine/recording/call_watch.h"

namespace infeed::detail {

WaitWatch::WaitWatch(Recorder* recorder) : recorder_(recorder) {
  if (recorder == nullptr) return;
  thread_ = recorder->threads().this_thread();
  if (thread_ == nullptr) return;
  begin_ticks_ = ticks_now();
  thread_->since_ticks.store(0, std::memory_order_relaxed);
}

WaitWatch::~WaitWatch() {
  if (thread_ == nullptr) return;
  const std::uint64_t now = ticks_now();
  thread_->accounted_ticks += now - begin_ticks_;
  recorder_->threads().note_wait(*thread_, now - begin_ticks_);
  thread_->since_ticks.store(now, std::memory_order_relaxed);
}

}  // namespace infeed::detail
