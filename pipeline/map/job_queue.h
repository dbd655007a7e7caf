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
  int parallelism_blocking;  ///< the same once the function is seen to block
  bool ordered;
  bool is_tuned = false;  ///< what `parallelism` says is only the beginning
};

/// The jobs of one parallel stage between its driver, who cuts the input into them, the threads that run
/// them and the consumer, who takes the results in order (or as they come).
///
/// A consumer that finds the next job not yet begun runs it itself, so the stage makes progress even
/// when the whole executor is busy with others.
///
/// Memory: inputs are in the account from when they are pulled, results from when they are there. The
/// driver pulls and a job begins while there is room for what is expected of them, or when the
/// consumer waits for just that; a job whose results turn out larger than there is room for stops,
/// and the rest of it is a job of its own.
///
/// Invariants: every member is guarded by hand_off_, but a running job's content, which belongs to the
/// thread that runs it, and position_, which belongs to whoever has the input. A job goes waiting ->
/// running -> done once.
class JobQueue {
 public:
  JobQueue(IteratorContext& run, StageCounters& counters,
           std::shared_ptr<const ElementwiseSpec> spec, Stage& input, std::uint64_t epoch,
           const JobQueueOptions& options);
  ~JobQueue();
  JobQueue(const JobQueue&) = delete;
  JobQueue& operator=(const JobQueue&) = delete;

  /// So many elements were passed over, before all others.
  void note_skipped(std::uint64_t elements) { position_ += elements; }
  /// Waits for the next result; Pull::values sets `result` to a job that is done. Throws the
  /// failure behind the last one. In the serial form the caller pulls the input itself, up to `want`
  /// elements, and runs the job.
  Pull take(std::unique_ptr<Job>& result, std::size_t want);
  /// Gives a used job back, to be filled again.
  void recycle(std::unique_ptr<Job> job);
  void stop() { hand_off_.stop(); }

  /// Jobs that may run at the same time from now on; 0: the serial form. Of the tuner.
  void set_workers(int workers);
  /// Told when the function is seen to block.
  void set_knob(Knob& knob);

 private:
  // Whoever has the input:
  std::size_t room(std::size_t elements_max);
  void cut_into_jobs(Chunk& pulled);
  std::unique_ptr<Job> job_of(Chunk& pulled, std::size_t elements);
  void extend_last(Chunk& pulled);
  void run_here(Job& job, bool is_watched);
  void add(std::unique_ptr<Job> job);
  void finish(ErrorPointer failure);
  Pull pull_here(std::unique_ptr<Job>& result, std::size_t want);

  /// Who asks for a job: a thread, or the consumer, who has nothing else.
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
  WaitPoint ready_{hand_off_};  ///< for the consumer
  JobList jobs_;
  JobCosts costs_;
  ElementsInHand in_hand_;  ///< of the driver: what it has pulled, or is about to
  std::vector<std::unique_ptr<Job>> recycled_;
  std::uint64_t position_ = 0;  ///< of the next element to be cut into a job
  int running_jobs_ = 0;
  bool is_wanted_ = false;           ///< the consumer has found no job since the last one came
  bool is_short_of_memory_ = false;  ///< somebody would do more if there were room
  bool has_been_short_of_memory_ = false;  ///< then jobs are taken one by one, as they get done
  std::size_t wake_at_ = 0;  ///< done jobs at the head that wake the consumer; 0: it doesn't wait
  std::uint64_t jobs_here_ = 0;  ///< that the consumer ran in the serial form
  JobThreads threads_;
  InputDriver driver_;  ///< last: it uses the others
};

}  // namespace infeed::detail
