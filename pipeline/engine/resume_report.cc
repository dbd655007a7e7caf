#include "engine/resume_report.h"

#include <algorithm>

#include "engine/threads/driver.h"
#include "engine/threads/name_thread.h"

namespace infeed::detail {

ResumeReport::ResumeReport(const IteratorContext& run, const IterateOptions& options,
                           std::uint64_t position)
    : run_(run), options_(options), position_(position) {
  if (options_.on_resume) thread_ = std::thread([this] { report(); });
}

ResumeReport::~ResumeReport() {
  if (!thread_.joinable()) return;
  {
    const std::lock_guard lock(mutex_);
    over_ = true;
  }
  end_.notify_one();
  thread_.join();
}

void ResumeReport::report() {
  name_thread("resume-report");
  const auto begin = std::chrono::steady_clock::now();
  const auto pause = std::max(options_.on_resume_every, std::chrono::milliseconds(1));
  std::unique_lock lock(mutex_);
  while (!end_.wait_for(lock, pause, [this] { return over_; })) {
    lock.unlock();
    options_.on_resume({.position = position_,
                        .elements_replayed = run_.counters().elements_replayed(),
                        .elapsed = std::chrono::duration_cast<std::chrono::milliseconds>(
                            std::chrono::steady_clock::now() - begin)});
    lock.lock();
  }
}

}  // namespace infeed::detail
