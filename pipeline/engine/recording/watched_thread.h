#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>

namespace infeed::detail {

struct StageCounters;

/// The time that a call took itself.
struct OwnTime {
  std::uint64_t begin_ticks = 0;
  std::uint64_t ticks = 0;  ///< without what it called
};

/// The resources that a thread has used so far, by the kernel's accounts.
struct ThreadUsage {
  std::uint64_t at_ticks = 0;
  std::uint64_t cpu_ns = 0;
  std::uint64_t ready_ns = 0;  ///< it could have run, but had no core
  std::uint64_t switches = 0;  ///< how often it has left its core
};

/// A thread that works for an iterator that records. It enters and leaves a call for every pull, so
/// each instruction here counts.
///
/// Invariants: the atomics are written by the thread and read by the recorder's; the rest is the
/// thread's own. What watched calls took is added up once however they nest: what a call took itself
/// is its time less what came to that sum meanwhile.
struct alignas(64) WatchedThread {
  /// The state before a call.
  struct Before {
    const StageCounters* stage;
    std::uint64_t accounted_ticks;
  };

  Before enter(const StageCounters& counters, std::uint64_t begin_ticks) {
    const Before before{stage.load(std::memory_order_relaxed), accounted_ticks};
    stage.store(&counters, std::memory_order_relaxed);
    since_ticks.store(begin_ticks, std::memory_order_relaxed);
    return before;
  }
  OwnTime leave(const Before& before, std::uint64_t begin_ticks, std::uint64_t now_ticks) {
    const std::uint64_t ticks = now_ticks - begin_ticks;
    const std::uint64_t nested_ticks = accounted_ticks - before.accounted_ticks;
    accounted_ticks = before.accounted_ticks + ticks;
    last = {begin_ticks, ticks};
    stage.store(before.stage, std::memory_order_relaxed);
    since_ticks.store(now_ticks, std::memory_order_relaxed);
    return {begin_ticks, ticks - std::min(ticks, nested_ticks)};
  }

  // The members that each pull reads and writes, in one cache line.
  std::atomic<std::uint64_t> since_ticks{0};         ///< in its own work for the stage; 0: it waits
  std::atomic<const StageCounters*> stage{nullptr};  ///< that it works for; null: for none
  std::uint64_t accounted_ticks = 0;  ///< taken by calls that are over, and by waits for others
  OwnTime last;                       ///< the last call that ended here, with what it called
  std::uint64_t usage_due_ticks = 0;  ///< the first call from then on looks whether `usage` holds

  ThreadUsage usage;
  int thread = 0;      ///< gettid()
  int schedstat = -1;  ///< /proc/thread-self/schedstat
};

/// The slot of the calling thread in the recorder that it worked for last.
struct SlotOfThread {
  std::uint64_t recorder = 0;
  WatchedThread* slot = nullptr;
};
inline thread_local constinit SlotOfThread watched_thread;

}  // namespace infeed::detail
