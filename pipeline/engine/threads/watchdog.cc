#include "engine/threads/watchdog.h"

#include <algorithm>
#include <fmt/format.h>
#include <memory>

namespace infeed::detail {

Watchdog::Watchdog(IteratorContext& run, std::chrono::milliseconds limit)
    : run_(run),
      limit_(std::min(limit, kLongestWait)),
      progress_(run.counters().progress()),
      thread_([&run] { run.begin_thread("watchdog"); }, limit_ / 8, [this] { return look(); }) {}

bool Watchdog::look() {
  const std::uint64_t progress = run_.counters().progress();
  const auto now = std::chrono::steady_clock::now();
  if (!waiting_ || progress != progress_) {
    progress_ = progress;
    moved_ = now;
    return true;
  }
  if (now - moved_ < limit_) return true;
  run_.fail(std::make_shared<const Error>(
      ErrorCode::deadline_exceeded, fmt::format("nothing has moved for {} ms: {}", limit_.count(),
                                                run_.counters().who_waits_for_whom())));
  return false;
}

}  // namespace infeed::detail
