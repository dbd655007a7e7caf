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

/// Who runs a parallel stage's jobs. Tasks in the executor never wait: they run jobs until there is
/// none, then end. When the function is seen to block (its thread's CPU clock stands still), jobs go to
/// threads of the stage's own, since a blocked task would take a core's place in the executor.
///
/// Invariants: the hand-off's lock guards it.
class JobThreads {
 public:
  using Lock = std::unique_lock<std::mutex>;

  struct Options {
    std::string name;    ///< of the stage's own threads
    int count;           ///< jobs that may run at the same time
    int count_blocking;  ///< the same once the function is seen to block
  };

  JobThreads(IteratorContext& run, HandOff& hand_off, Options options, Workers<Job>::Work work);

  int count() const { return count_; }
  bool is_blocking() const { return is_blocking_; }
  /// A job waits. Lets go of the lock where a task is submitted: an executor may run it in this call.
  void wake_one(Lock& lock);
  void set_count(int count);
  /// Told when the function is seen to block.
  void set_knob(Knob& knob) { knob_ = &knob; }
  /// A job is done, for which its thread waited or not. True when the function is seen to block from
  /// now on.
  bool note_job(bool waited);

 private:
  void run_as_task();
  void set_own(int count);

  IteratorContext& run_;
  HandOff& hand_off_;
  const Options options_;
  const Workers<Job>::Work work_;
  ThreadShare own_share_;  ///< for own_
  Knob* knob_ = nullptr;
  int count_;
  int tasks_ = 0;  ///< submitted or running
  std::uint64_t waits_in_a_row_ = 0;
  bool is_blocking_ = false;
  Workers<Job> own_;
  ExecutorTasks executor_tasks_;  ///< last: both use the others
};

}  // namespace infeed::detail
