#pragma once

#include <atomic>
#include <cstdint>

namespace infeed::detail {

struct StageCounters;

/// What a call took itself.
struct OwnTime {
  std::uint64_t begin_ticks = 0;
  std::uint64_t ticks = 0;  ///< without what it called
};

/// What a thread has used so far, by the kernel's accounts.
struct ThreadUsage {
  std::uint64_t at_ticks = 0;
  std::uint64_t cpu_ns = 0;
  std::uint64_t ready_ns = 0;  ///< it could have run, but had no core
};

/// A thread that works for an iterator that records.
///
/// Invariants: the atomics are written by the thread and read by the recorder's; the rest is the
/// thread's own.
struct alignas(64) WatchedThread {
  std::atomic<std::uint64_t> since_ticks{0};  ///< it is in its own work since then; 0: it isn't
  std::atomic<const StageCounters*> stage{nullptr};
  int thread = 0;                  ///< gettid()
  int schedstat = -1;              ///< /proc/thread-self/schedstat
  std::uint64_t nested_ticks = 0;  ///< of the call at hand: spent in others, or waiting for them
  OwnTime last;                    ///< the last call that ended here, with what it called
  ThreadUsage usage;
};

/// The slot of the calling thread in the recorder that it worked for last.
struct SlotOfThread {
  std::uint64_t recorder = 0;
  WatchedThread* slot = nullptr;
};
inline thread_local constinit SlotOfThread watched_thread;

}  // namespace infeed::detail
