#pragma once

#include <memory>
#include <mutex>
#include <vector>

#include <infeed/detail/hand_off.h>
#include <infeed/pipeline/chunk.h>
#include <infeed/pipeline/detail/elementwise.h>

#include "engine/iterator_context.h"
#include "engine/work/elements_in_hand.h"
#include "engine/work/input_driver.h"
#include "map/job.h"
#include "map/job_runner.h"
#include "map/job_threads.h"

namespace infeed::detail {

struct JobQueueOptions {
  int parallelism;           ///< jobs that may run at the same time
  int parallelism_blocking;  ///< the same for a function that blocks
  bool ordered;
  bool is_tuned = false;  ///< `parallelism` is only the start
  /// Elements of the input behind each of which a job begins, for bookmarks; 0: where it suits.
  std::uint64_t bookmark_every = 0;
};

/// The jobs of one parallel stage. A driver cuts the input into jobs, threads run them, and the
/// consumer takes the results in order (or as they come).
///
/// If nobody has begun the next job, the consumer runs it itself, so the stage makes progress even
/// when the whole executor is busy with other work.
///
/// Memory: inputs are in the account from when they are pulled, results from when they exist. The
/// driver pulls, and a job begins, if there is room for the expected bytes, or if the consumer
/// waits for just that job. A job stops if its results turn out larger than the room, and its rest
/// becomes another job.
///
/// Invariants: hand_off_ guards every member, with two exceptions. A running job's content belongs
/// to the thread that runs it. position_ belongs to the thread that has the input. A job goes
/// waiting -> running -> done once.
class JobQueue {
 public:
  JobQueue(IteratorContext& run, StageCounters& counters,
           std::shared_ptr<const ElementwiseSpec> spec, Stage& input, std::uint64_t epoch,
           const JobQueueOptions& options);
  ~JobQueue();
  JobQueue(const JobQueue&) = delete;
  JobQueue& operator=(const JobQueue&) = delete;

  /// Says how many elements were skipped before all others.
  void note_skipped(std::uint64_t elements) { position_ += elements; }
  /// Waits for the next result; Pull::values sets `result` to a job that is done. Throws the
  /// failure that comes after the last one. In the serial form the caller pulls the input itself,
  /// up to `want` elements, and runs the job.
  Pull take(std::unique_ptr<Job>& result, std::size_t want);
  /// Gives a used job back for reuse.
  void recycle(std::unique_ptr<Job> job);
  void stop() { hand_off_.stop(); }

  /// Sets the number of jobs that may run at the same time, for the tuner; 0: the serial form.
  void set_workers(int workers);
  /// Sets the knob, which is told when the function is seen to block.
  void set_knob(Knob& knob);

 private:
  // For the thread that has the input:
  std::size_t room(std::size_t elements_max);
  void cut_into_jobs(Chunk& pulled);
  std::unique_ptr<Job> job_of(Chunk& pulled, std::size_t elements);
  void extend_last(Chunk& pulled);
  void run_here(Job& job, bool is_watched);
  void add(std::unique_ptr<Job> job);
  void finish(ErrorPointer failure);
  Pull pull_here(std::unique_ptr<Job>& result, std::size_t want);

  /// Who asks for a job: a thread, or the consumer, which has nothing else to do.
  enum class Claimer { thread, consumer };
  Job* claim(Claimer claimer);
  bool may_begin(Job& job, Claimer claimer);
  void run_unlocked(std::unique_lock<std::mutex>& lock, Job& job);
  void wait(std::unique_lock<std::mutex>& lock);
  void wake_collector();
  void note_cost(const Job& job);
  void note_parallelism();
  std::size_t elements_per_job() const { return costs_.elements_per_job(in_hand_.bytes_each()); }
  std::size_t jobs_max() const;

  IteratorContext& run_;
  StageCounters& counters_;
  const JobQueueOptions options_;
  const JobRunner runner_;
  HandOff hand_off_;
  WaitPoint ready_{hand_off_};  ///< where the consumer waits
  JobList jobs_;
  JobCosts costs_;
  ElementsInHand in_hand_;  ///< elements that the driver has pulled, or is about to pull
  std::vector<std::unique_ptr<Job>> recycled_;
  std::uint64_t position_ = 0;  ///< the next element that becomes part of a job
  int running_jobs_ = 0;
  bool is_wanted_ = false;           ///< the consumer has found no job since the last one came
  bool is_short_of_memory_ = false;  ///< more would be done if there were room
  bool has_been_short_of_memory_ = false;  ///< then jobs are taken one by one, as they get done
  std::size_t wake_at_ = 0;  ///< done jobs at the head that wake the consumer; 0: it doesn't wait
  std::uint64_t jobs_here_ = 0;  ///< run by the consumer in the serial form
  JobThreads threads_;
  // Last: they use the members above.
  InputDriver driver_;
  RoomWaker room_waker_;
};

}  // namespace infeed::detail
