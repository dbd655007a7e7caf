#pragma once

#include <cstddef>
#include <functional>
#include <stop_token>

/// Why: files are checked or indexed one by one, independently, at the disk's speed.
namespace infeed::tools {

/// Calls `work(i)` for 0 <= i < count on `threads` threads (0: one a core), in no order; returns
/// when all are done. Rethrows the first exception after running calls have ended; throws Error
/// (cancelled) after a stop request. The calling thread calls `on_progress(done)` about ten times a
/// second.
void for_each_in_parallel(std::size_t count, int threads, const std::stop_token& stop,
                          const std::function<void(std::size_t)>& work,
                          const std::function<void(std::size_t done)>& on_progress = {});

}  // namespace infeed::tools
