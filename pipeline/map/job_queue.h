#pragma once

#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include <infeed/detail/hand_off.h>
#include <infeed/pipeline/chunk.h>
#include <infeed/pipeline/detail/elementwise.h>

#include "engine/iterator_context.h"
#include "engine/threads/input_turn.h"

namespace infeed::detail {

/// Some neighbouring elements that one thread puts through the user's function.
struct Job {
  enum class State { waiting, running, done };

  Job(const TypeInfo& in_type, std::size_t capacity) : in(in_type, capacity) {}

  Chunk in;
  std::deque<Chunk> out;  ///< in order; each but the last ends with an error
  std::uint64_t position = 0;
  std::uint64_t elements = 0;
  std::uint64_t reserved_bytes = 0;
  std::uint64_t ticks = 0;  ///< that the function took
  State state = State::waiting;
};

struct JobQueueOptions {
  int parallelism;           ///< jobs that may run at the same time
  int parallelism_blocking;  ///< the same once the function is seen to block
  bool ordered;
  bool is_tuned = false;  ///< what `parallelism` says is only the beginning
};

/// The jobs of one parallel stage between its driver, who adds them, the threads that run them and
/// the consumer, who takes the results in order (or as they come).
///
/// Tasks in the executor never wait: they run jobs until there is none, then end. A consumer that
/// finds the next job not yet begun runs it itself, so the stage makes progress even when the whole
/// executor is busy with others. When the function is seen to block (its thread's CPU clock stands
/// still), jobs go to threads of the stage's own, since a blocked task would take a core's place in
/// the executor.
///
/// Invariants: every member is guarded by hand_off_, but a running job's content, which belongs to the
/// thread that runs it. A job goes waiting -> running -> done once. The destructor waits for tasks
/// that have begun, never for those that have not: it may run in the executor's only thread (a
/// user's function that iterates a dataset of its own).
class JobQueue {
 public:
  JobQueue(IteratorContext& run, StageCounters& counters,
           std::shared_ptr<const ElementwiseSpec> spec, const Stage& input, std::uint64_t epoch,
           const JobQueueOptions& options);
  ~JobQueue();
  JobQueue(const JobQueue&) = delete;
  JobQueue& operator=(const JobQueue&) = delete;

  /// Elements that are worth one job (about 600 us), and how many jobs may still be added.
  std::size_t elements_per_job() const;
  std::size_t room_jobs() const;
  /// True for a function so cheap that handing even 1,024 elements to another thread costs more
  /// (20 us) than calling it: then the driver calls run_here() before add().
  bool is_cheap() const;
  void run_here(Job& job);
  /// Moves what it can of the chunk into the last job, if nobody has begun that one and it is not
  /// yet worth its hand-over: large elements come in chunks of a few, each far below that.
  /// Nothing is held back for it: who is free takes the job as it is.
  void extend_last(Chunk& chunk, std::uint64_t& position);
  /// Adds a job; waits for room. False when stopped.
  bool add(std::unique_ptr<Job> job);
  /// Nothing more will be added: the input is over or, with `failure`, has failed for good.
  void finish(ErrorPointer failure = nullptr) { hand_off_.finish(std::move(failure)); }
  /// Waits for the next result; Pull::values sets `result` to a job that is done. Throws the
  /// failure behind the last one.
  Pull take(std::unique_ptr<Job>& result);
  /// Gives a used job back, to be filled again; null when there is none.
  void recycle(std::unique_ptr<Job> job);
  std::unique_ptr<Job> recycled();
  void stop() { hand_off_.stop(); }

  /// Whose turn it is to pull the input, the driver's or the consumer's. In the serial form take() gives
  /// no job once there are none, and the consumer has the input from then until give_back().
  InputTurn& turn() { return turn_; }
  /// Jobs that may run at the same time from now on; 0: the serial form. Of the tuner.
  void set_workers(int workers);
  /// Told when the function is seen to block.
  void set_knob(Knob& knob);

 private:
  /// What a submitted task holds; it may run when the queue is long gone.
  struct Lifeline {
    std::mutex mutex;
    std::condition_variable nobody_inside;
    JobQueue* queue;
    int inside = 0;  ///< tasks that are in the queue
  };

  Job* claim();
  void submit_runner();
  void run_job(Job& job);
  void run_watched(Job& job, std::uint64_t& position);
  void run_elements(Job& job, std::uint64_t& position, std::size_t count);
  bool run_and_watch(Job& job);
  void note_blocking();
  void run_jobs();
  void work_as(std::size_t number);
  void run_unlocked(std::unique_lock<std::mutex>& lock, Job& job);
  void add_own_threads();
  void note_cost(const Job& job);
  void job_done(Job& job, bool blocked);
  void start_runners(std::unique_lock<std::mutex>& lock);
  std::size_t jobs_max() const;
  std::size_t ready_at_head() const;

  IteratorContext& run_;
  StageCounters& counters_;
  const std::shared_ptr<const ElementwiseSpec> spec_;
  const Stage& input_;  ///< to trace through
  const std::uint64_t epoch_;
  const JobQueueOptions options_;
  ThreadShare own_share_;  ///< for own_threads_, once the function is seen to block

  HandOff hand_off_;
  WaitPoint ready_{hand_off_};  ///< for the consumer
  WaitPoint room_{hand_off_};   ///< for the driver
  WaitPoint work_{hand_off_};   ///< for the stage's own threads
  InputTurn turn_{hand_off_, ready_};
  int workers_;  ///< that may run jobs
  Knob* knob_ = nullptr;
  std::deque<std::unique_ptr<Job>> jobs_;  ///< in the input's order
  std::size_t waiting_from_ = 0;           ///< jobs_ before this index are claimed
  std::vector<std::unique_ptr<Job>> recycled_;
  /// Those beyond workers_ end.
  struct OwnThread {
    std::thread thread;
    bool runs = false;
  };
  std::vector<OwnThread> own_threads_;
  const std::shared_ptr<Lifeline> lifeline_;
  int runners_ = 0;  ///< tasks submitted or running
  int running_jobs_ = 0;
  std::uint64_t ticks_per_element_ = 0;  ///< smoothed
  std::uint64_t slow_jobs_blocked_ = 0;
  std::uint64_t jobs_here_ = 0;  ///< that run_here() ran; the caller's
  std::size_t wake_at_ = 0;  ///< done jobs at the head that wake the consumer; 0: it doesn't wait
  bool waits_for_any_job_ = false;  ///< the consumer does: there is none
  bool driver_waits_ = false;
  bool blocking_ = false;
};

}  // namespace infeed::detail
