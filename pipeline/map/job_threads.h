#pragma once

#include <cstdint>
#include <mutex>
#include <string>

#include <infeed/detail/hand_off.h>
#include <infeed/detail/workers.h>

#include "engine/iterator_context.h"
#include "engine/threads/thread_budget.h"
#include "engine/work/executor_tasks.h"
#include "map/job.h"

namespace infeed::detail {

/// The threads that run a parallel stage's jobs. Tasks in the executor never wait: they run jobs
/// until there are none, then end. If the function is seen to block (its thread's CPU clock stands
/// still), jobs go to the stage's own threads, since a blocked task would take a core's place in
/// the executor.
///
/// Invariants: the hand-off's lock guards all members.
class JobThreads {
 public:
  using Lock = std::unique_lock<std::mutex>;

  struct Options {
    std::string name;    ///< the name of the stage's own threads
    int count;           ///< jobs that may run at the same time
    int count_blocking;  ///< the same for a function that blocks
  };

  JobThreads(IteratorContext& run, HandOff& hand_off, Options options, Workers<Job>::Work work);

  int count() const { return count_; }
  bool is_blocking() const { return is_blocking_; }
  /// Wakes a thread for a waiting job. Releases the lock to submit a task: an executor may run it
  /// in this call.
  void wake_one(Lock& lock);
  void set_count(int count);
  /// Sets the knob, which is told when the function is seen to block.
  void set_knob(Knob& knob) { knob_ = &knob; }
  /// Notes that a job is done, and whether its thread waited. Returns true if the function is seen
  /// to block from now on.
  bool note_job(bool waited);

 private:
  void run_as_task();
  void set_own(int count);

  IteratorContext& run_;
  HandOff& hand_off_;
  const Options options_;
  const Workers<Job>::Work work_;
  ThreadShare own_share_;  ///< threads for own_
  Knob* knob_ = nullptr;
  int count_;
  int tasks_ = 0;  ///< submitted or running
  std::uint64_t waits_in_a_row_ = 0;
  bool is_blocking_ = false;
  Workers<Job> own_;
  ExecutorTasks executor_tasks_;  ///< last: both use the members above
};

}  // namespace infeed::detail
