#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <deque>
#include <mutex>
#include <vector>

#include "engine/recording/recording_clock.h"

namespace infeed::detail {

struct StageCounters;

/// The use of cores by a thread so far, by the kernel's accounts.
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
/// thread's own. accounted_ticks adds up the time of watched calls once, however they nest. A
/// call's own time is its time less the growth of that sum meanwhile.
struct alignas(64) WatchedThread {
  /// The thread's state before a call. leave() restores it.
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

  // Members that each pull reads and writes, in one cache line.
  std::atomic<std::uint64_t> since_ticks{0};  ///< when its work for the stage began; 0: it waits
  std::atomic<const StageCounters*> stage{nullptr};  ///< it works for this one; null: for none
  std::uint64_t accounted_ticks = 0;  ///< taken by calls that are over, and by waits for others
  OwnTime last;                       ///< the last call that ended here, with what it called
  std::uint64_t usage_due_ticks = 0;  ///< the first call from then on looks whether `usage` holds

  ThreadUsage usage;
  int thread = 0;      ///< gettid()
  int schedstat = -1;  ///< /proc/thread-self/schedstat
};

/// The slot of the calling thread in the recording that it worked for last.
struct SlotOfThread {
  std::uint64_t recording = 0;
  WatchedThread* slot = nullptr;
};
inline thread_local constinit SlotOfThread watched_thread;

struct RecordedSlowCall;

/// The threads that work for an iterator that records: their calls, and what they wait in.
///
/// Invariants: the list is guarded by mutex_; what was seen of waits belongs to the recorder's
/// thread.
class WatchedThreads {
 public:
  WatchedThreads();
  ~WatchedThreads();
  WatchedThreads(const WatchedThreads&) = delete;
  WatchedThreads& operator=(const WatchedThreads&) = delete;

  /// Returns the number of this recording in the process.
  std::uint64_t number() const { return number_; }

  // ---- for the threads that work ----
  /// Returns the calling thread's slot; null if there are too many threads.
  WatchedThread* this_thread() {
    return watched_thread.recording == number_ ? watched_thread.slot : find_this_thread();
  }
  /// Returns the slot with its usage, which is looked at when it is two milliseconds old: a reading
  /// takes 9 us, and one every millisecond was a third of the cost of recording.
  WatchedThread* this_thread(std::uint64_t now_ticks) {
    WatchedThread* const thread = this_thread();
    const bool is_due = thread != nullptr && now_ticks >= thread->usage_due_ticks;
    if (is_due) [[unlikely]]
      renew_usage(*thread, now_ticks);
    return thread;
  }
  /// Returns the last call of the calling thread, with what it called, so that its times needn't be
  /// read again.
  OwnTime last_call() {
    const WatchedThread* const thread = this_thread();
    return thread == nullptr ? OwnTime{ticks_now(), 0} : thread->last;
  }
  /// Reads what the calling thread has used; returns the reading before.
  ThreadUsage read_usage(WatchedThread& thread, std::uint64_t now_ticks) const;
  /// Notes that `thread` has waited, so that its time off the core then is no part of its next
  /// call.
  void note_wait(WatchedThread& thread, std::uint64_t wait_ticks) const {
    if (wait_ticks >= stale_ticks_ / 8) thread.usage_due_ticks = 0;
  }

  // ---- for the recorder's thread ----
  /// Looks where threads wait that have been in one call for `slow_ticks`.
  void look(std::uint64_t slow_ticks);
  /// Returns where the call was most often seen waiting; "" if it never was.
  const char* seen_waiting(const RecordedSlowCall& call) const;
  // Forgets old waits. The waits of calls under way must be kept.
  void forget_waits_before(std::uint64_t ticks);

 private:
  struct Wait {
    int thread;
    const StageCounters* stage;
    std::uint64_t at_ticks;
    const char* where;
  };

  WatchedThread* find_this_thread();
  void renew_usage(WatchedThread& thread, std::uint64_t now_ticks) const;

  const std::uint64_t number_;
  const std::uint64_t stale_ticks_ = ticks_of_us(2000);
  const std::uint64_t usage_age_ticks_max_ = 8 * stale_ticks_;
  std::mutex mutex_;
  std::deque<WatchedThread> threads_;
  std::vector<Wait> waits_;
};

}  // namespace infeed::detail
