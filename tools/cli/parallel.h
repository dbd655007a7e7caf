#pragma once

#include <cstddef>
#include <functional>
#include <stop_token>

/// Why: shards are written, files checked or indexed one by one, independently, at the disk's speed.
/// They are threads rather than tasks of TBB, since they wait: for 32 waits of 50 ms on 16 threads
/// these take 0.1 s, and an arena of 16, which has as many threads as there are cores, 0.8 s.
namespace infeed::tools {

using Work = std::function<void(std::size_t i)>;

/// Calls `work(i)` for 0 <= i < count on `threads` threads (0: one a core), in no order; returns
/// when all are done. Rethrows the first exception after running calls have ended; throws Error
/// (cancelled) after a stop request. The calling thread calls `on_progress(done)` about ten times a
/// second.
void for_each_in_parallel(std::size_t count, int threads, const std::stop_token& stop,
                          const Work& work,
                          const std::function<void(std::size_t done)>& on_progress = {});

/// The same for work with a state of each thread's own: each calls `begin` first, and then the work
/// that it returned.
void for_each_in_parallel_threads(std::size_t count, int threads, const std::stop_token& stop,
                                  const std::function<Work()>& begin,
                                  const std::function<void(std::size_t done)>& on_progress = {});

}  // namespace infeed::tools
