#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <vector>

#include <infeed/detail/hand_off.h>
#include <infeed/pipeline/chunk.h>
#include <infeed/pipeline/detail/elementwise.h>

#include "engine/iterator_context.h"
#include "engine/threads/elements_in_hand.h"
#include "engine/threads/input_turn.h"
#include "engine/work/workers.h"

namespace infeed::detail {

/// Some neighbouring elements that one thread puts through the user's function.
struct Job {
  enum class State { waiting, running, done };

  Job(const TypeInfo& in_type, std::size_t capacity) : in(in_type, capacity) {}

  Chunk in;
  std::deque<Chunk> out;  ///< in order; each but the last ends with an error
  std::uint64_t position = 0;
  std::uint64_t elements = 0;
  std::uint64_t result_bytes = 0;  ///< of `out`
  HeldBytes held;                  ///< for `in` and `out`
  std::uint64_t ticks = 0;         ///< that the function took
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
/// Memory: inputs are in the account from when they are pulled, results from when they are there. The
/// driver pulls and a job begins while there is room for what is expected of them, or when the
/// consumer waits for just that; a job whose results turn out larger than there is room for stops,
/// and the rest of it is a job of its own.
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

  /// Elements that are worth one job (about 600 us, and 1 MiB).
  std::size_t elements_per_job() const;
  /// Waits until the driver may pull, and returns how many elements; 0 when stopped.
  std::size_t wait_for_room(std::size_t elements_max);
  /// The driver has pulled these.
  void hold(Chunk& pulled);
  /// The job has taken its `in` from what was pulled.
  void hand_to(Job& job);
  /// True for a function so cheap that handing even 1,024 elements to another thread costs more
  /// (20 us) than calling it: then the driver calls run_here() before add().
  bool is_cheap() const;
  void run_here(Job& job);
  /// Moves what it can of the chunk into the last job, if nobody has begun that one and it is not
  /// yet worth its hand-over: large elements come in chunks of a few, each far below that.
  /// Nothing is held back for it: who is free takes the job as it is.
  void extend_last(Chunk& chunk, std::uint64_t& position);
  /// Adds a job; waits while there are too many. False when stopped.
  bool add(std::unique_ptr<Job> job);
  /// Nothing more will be added: the input is over or, with `failure`, has failed for good.
  void finish(ErrorPointer failure = nullptr);
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

  std::size_t elements_worth_a_job() const;
  std::size_t elements_with_room(std::size_t elements_max);
  void wait_for_consumer(std::unique_lock<std::mutex>& lock,
                         const std::function<bool()>& is_admitted);
  /// Who asks for a job: a thread, or the consumer, who has nothing else.
  enum class Claimer { thread, consumer };
  bool may_begin(Job& job, Claimer claimer);
  Job* claim(Claimer claimer);
  void go_on_with_memory(std::unique_lock<std::mutex>& lock);
  void submit_runner();
  void run_job(Job& job, bool may_stop);
  void run_blocks(Job& job, std::uint64_t& position, bool may_stop);
  std::size_t block_behind(std::size_t block, std::uint64_t count, std::uint64_t ticks) const;
  bool has_room_for_results(Job& job);
  void run_elements(Job& job, std::uint64_t& position, std::size_t count);
  void hold_results(Job& job);
  void split_off_rest(Job& job);
  bool run_and_watch(Job& job, bool may_stop);
  void note_blocking();
  void run_jobs();
  bool has_waiting_job() const;
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
  InputTurn turn_{hand_off_, ready_};
  int workers_;                      ///< that may run jobs
  ElementsInHand in_hand_;           ///< of the driver: what it has pulled, or is about to
  std::uint64_t result_bytes_each_;  ///< of a result: the most of late
  Knob* knob_ = nullptr;
  std::deque<std::unique_ptr<Job>> jobs_;  ///< in the input's order
  std::size_t waiting_from_ = 0;           ///< jobs_ before this index are claimed, others may be
  std::vector<std::unique_ptr<Job>> recycled_;
  const std::shared_ptr<Lifeline> lifeline_;
  int runners_ = 0;  ///< tasks submitted or running
  int running_jobs_ = 0;
  std::uint64_t ticks_per_element_ = 0;  ///< smoothed
  bool is_wanted_ = false;               ///< the consumer has found no job since the last one came
  bool is_short_of_memory_ = false;      ///< somebody would do more if there were room
  bool has_been_short_of_memory_ = false;  ///< then jobs are taken one by one, as they get done
  std::uint64_t slow_jobs_blocked_ = 0;
  std::uint64_t jobs_here_ = 0;  ///< that run_here() ran; the caller's
  std::size_t wake_at_ = 0;  ///< done jobs at the head that wake the consumer; 0: it doesn't wait
  bool waits_for_any_job_ = false;  ///< the consumer does: there is none
  bool driver_waits_ = false;
  bool blocking_ = false;
  Workers<Job> own_threads_;  ///< last: they use the others
};

}  // namespace infeed::detail
