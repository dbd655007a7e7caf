#include "engine/threads/watchdog.h"

#include <algorithm>
#include <fmt/format.h>
#include <memory>

#include "engine/threads/driver.h"
#include "engine/threads/name_thread.h"

namespace infeed::detail {

Watchdog::Watchdog(IteratorContext& run, std::chrono::milliseconds limit)
    : run_(run), limit_(limit) {
  thread_ = std::thread([this] { watch(); });
}

Watchdog::~Watchdog() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  stop_.notify_one();
  thread_.join();
}

void Watchdog::consumer_waits(bool waits) {
  const std::lock_guard lock(mutex_);
  waiting_ = waits;
}

void Watchdog::watch() {
  name_thread("watchdog");
  using Clock = std::chrono::steady_clock;
  std::uint64_t progress_before = run_.counters().progress();
  Clock::time_point moved = Clock::now();
  std::unique_lock lock(mutex_);
  const auto pause = std::max(limit_ / 8, std::chrono::milliseconds(1));
  while (!stop_.wait_for(lock, pause, [this] { return stopping_; })) {
    const std::uint64_t progress = run_.counters().progress();
    const Clock::time_point now = Clock::now();
    if (!waiting_ || progress != progress_before) {
      progress_before = progress;
      moved = now;
      continue;
    }
    if (now - moved < limit_) continue;
    run_.fail(std::make_shared<const Error>(
        ErrorCode::deadline_exceeded, fmt::format("nothing has moved for {} ms: {}", limit_.count(),
                                                  run_.counters().who_waits_for_whom())));
    return;
  }
}

}  // namespace infeed::detail
