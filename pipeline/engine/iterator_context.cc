#include "engine/iterator_context.h"

#include <fmt/format.h>

#include <infeed/detail/begin_thread.h>

#if defined(__SANITIZE_THREAD__)
#define INFEED_THREAD_SANITIZER
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define INFEED_THREAD_SANITIZER
#endif
#endif

namespace infeed {
namespace {

int checked_threads_max(int threads_max) {
  if (threads_max >= 0) return threads_max;
  throw Error(ErrorCode::invalid_argument,
              fmt::format("threads_max is {}; give 1 or more, or 0 for no limit", threads_max));
}

std::shared_ptr<Executor> default_executor(
    int thread_count, const std::function<void(std::string_view)>& on_thread_start) {
#if defined(INFEED_THREAD_SANITIZER)
  return Executor::threads(thread_count, on_thread_start);
#else
  return Executor::tbb(thread_count, on_thread_start);
#endif
}

}  // namespace

IteratorContext::IteratorContext(const IterateOptions& options)
    : memory_(options.memory_bytes_max),
      given_inline_(options.executor != nullptr && options.executor->concurrency() == 0),
      threads_(checked_threads_max(options.threads_max)),
      on_thread_start_(options.on_thread_start),
      executor_(options.executor),
      bookmarks_(options.bookmark_every),
      traces_(options.trace),
      knobs_(options.tuner.bounds),
      recorder_(detail::Recorder::of(*this, options.recording, recording_)) {}

RecordingStatus IteratorContext::recording() const {
  return recorder_ == nullptr ? recording_ : recorder_->status();
}

void IteratorContext::begin_thread(const std::string& name) const {
  detail::begin_thread(name, on_thread_start_);
}

StageContext IteratorContext::shared_by_all(StageContext context) const {
  context.set_pass(0);
  if (context.inner.outermost != nullptr)
    context.inner.key = seeds_.of(*context.inner.outermost).seed;
  return context;
}

Executor& IteratorContext::executor() {
  const std::lock_guard lock(executor_mutex_);
  if (executor_ == nullptr) {
    executor_ = default_executor(threads_.take_for_pool(cores()), on_thread_start_);
  }
  return *executor_;
}

int IteratorContext::concurrency() {
  const std::lock_guard lock(executor_mutex_);
  return executor_ != nullptr ? executor_->concurrency() : cores();
}

int IteratorContext::cores() {
  if (cores_ == 0) cores_ = usable_cores();
  return cores_;
}

}  // namespace infeed
