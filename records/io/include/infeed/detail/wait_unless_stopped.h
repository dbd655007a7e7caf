#pragma once

#include <condition_variable>
#include <mutex>
#include <stop_token>

namespace infeed::detail {

/// Returns when the time is over or a stop is requested.
template <class Duration>
void wait_unless_stopped(Duration time, const std::stop_token& stop) {
  std::mutex mutex;
  std::condition_variable_any never;
  std::unique_lock lock(mutex);
  never.wait_for(lock, stop, time, [] { return false; });
}

}  // namespace infeed::detail
