#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include <infeed/communicator.h>
#include <infeed/error.h>
#include <infeed/pipeline/checkpoint.h>
#include <infeed/pipeline/dataset.h>
#include <infeed/pipeline/iterate_options.h>
#include <infeed/records/column_batch.h>

/// Why: a trainer's own cores may be too few for its pipeline. Other processes can make its batches,
/// since a batch is a function of (pipeline, world, step): a request is a range of steps, and a worker
/// needs no state. A worker that is silent is replaced by another, whose batches are the same, and the
/// second answer is dropped: each batch comes exactly once and in order, at any number of workers.
///
///     // rank 0, the trainer:
///     infeed::Feeder feeder(*ranks, {.workers = {1, 2}});
///     while (auto batch = feeder.next()) use(*batch);
///     infeed::dismiss_workers(*ranks, {1, 2});
///
///     // ranks 1 and 2:
///     infeed::serve_steps(*ranks, [](const infeed::World& share, const std::string&) {
///       return column_batches | infeed::shard({.count = share.size, .index = share.rank});
///     }, {.trainers = {0}});
///
/// A request carries the place to go on from (checkpoint.h), so seeds that nobody gave are the same at
/// all workers, and a worker with other data or another pipeline refuses. A worker goes to a step by
/// seeking, and goes on without it when the next range follows the last one. It reads no further
/// ahead than its ranges, since others make what comes behind (read_ahead_until()).
///
/// An element's error takes the place of its step, as without workers. If a failed element may have
/// moved the ones behind it (checkpoint.h: errors), ranges beyond it are asked for anew, from one
/// worker at a time, which looks at each element: right, but no faster than one process. So let a
/// damaged record keep its row where several processes make batches.
///
/// Requests and answers travel by Communicator::send(). Both sides drop messages with other tags.
namespace infeed {

struct FeedOptions {
  /// Ranks of the workers, each once. Must not be empty.
  std::vector<int> workers = {};
  /// The pipeline in a form that the workers read, if they don't know it by themselves.
  std::string pipeline = {};
  /// The share that is asked for: this trainer's place among the trainers.
  World share = {};
  /// Steps that a worker makes for one request. A worker seeks once a range, so more of them cost
  /// less; each range under way may hold as many batches in the trainer's memory.
  std::uint64_t range_steps = 8;
  /// Ranges that each worker has been asked for and that the trainer hasn't used up.
  std::uint64_t ranges_ahead = 2;
  /// Number of the iteration, which keys shuffles, if there is no place to resume from.
  std::uint64_t epoch = 0;
  /// The place to go on from: a checkpoint of a Feeder or of an iterator of the same pipeline.
  std::optional<Checkpoint> resume = std::nullopt;
  /// Steps to pass over behind that place, or at the start, of which none is an error.
  std::uint64_t skip = 0;
  /// A worker that owes steps and says nothing for so long is replaced. It may come back. A worker
  /// at work says something each second, also while it opens its files.
  std::chrono::milliseconds silent_after{5'000};
  /// A worker that lives, but has made none of a range's steps for so long, is no longer waited for.
  std::chrono::milliseconds slow_after{120'000};
  /// Ends a next() that waits: it throws Error(cancelled).
  std::stop_token stop = {};
};

enum class FedWorkerState : std::uint8_t {
  answers,
  silent,  ///< for longer than silent_after
  failed,  ///< for a reason: other data, a file that it can't read
};

struct FedWorker {
  int rank = 0;
  FedWorkerState state = FedWorkerState::answers;
  std::uint64_t steps = 0;            ///< that were handed out
  std::uint64_t late = 0;             ///< answers that another worker had given before
  std::uint64_t ranges_replaced = 0;  ///< that others were asked for instead
  std::string failure = {};           ///< its reason
};

/// The trainer's side. Thread-safety: one thread at a time, which may be another one than that of
/// the communicator's collective calls.
class Feeder {
 public:
  /// Throws Error(invalid_argument) for options that can't be. Asks nothing yet.
  Feeder(Communicator& communicator, FeedOptions options);
  ~Feeder();
  Feeder(const Feeder&) = delete;
  Feeder& operator=(const Feeder&) = delete;

  /// Returns the next batch; empty at the end. Throws the element's error that a step has. Throws a
  /// terminal Error: unavailable if no worker answers, which names each; failed_precondition if the
  /// pipeline can't be asked by step or doesn't fit the checkpoint; data_loss if an answer is damaged.
  std::optional<ColumnBatch> next();
  /// Returns the place behind the last batch: what an iterator in this process would return. Asks a
  /// worker for the place of the start.
  Checkpoint checkpoint();
  /// Returns the number of batches, if a worker knows it. Asks one.
  Cardinality cardinality();
  /// Steps handed out, those before a resumed checkpoint included.
  std::uint64_t position() const;
  /// Returns the figures of each worker, in the order of the options.
  std::vector<FedWorker> workers() const;

 private:
  class Steps;
  std::unique_ptr<Steps> steps_;
};

/// Why: training takes a Dataset. This one's batches come from workers. A checkpoint of it is one of
/// the workers' pipeline, but for bookmarks: either goes on from the other's, at any number of workers:
///
///     const auto batches = infeed::fed_batches(*ranks, {.workers = {1, 2}}) | infeed::prefetch();
///
/// It asks a worker for the start when it is described. resume, skip, epoch and stop of the options
/// are the iteration's. The pipeline's stages must have seeds, since a worker that begins anew would
/// draw others. Only one iteration at a time, and no other Feeder, may use the communicator. The
/// dataset keeps a reference to it.
Dataset<ColumnBatch> fed_batches(Communicator& communicator, const FeedOptions& options);

/// Ranks by what they do, in order.
struct FeedRoles {
  std::vector<int> trainers = {};
  std::vector<int> workers = {};
};

/// Says to all ranks whether this one is a worker, and returns what all are: in `mpirun -n 2 infeed
/// train : -n 2 infeed feed` neither program knows. Each rank of the job calls it once, first of
/// all. Trainers then exchange among themselves by group_of(ranks, roles.trainers).
FeedRoles gather_roles(Communicator& communicator, bool is_worker);

/// Tells the workers that this trainer will ask for nothing more. Once all of its trainers have
/// said so, serve_steps() returns.
void dismiss_workers(Communicator& communicator, const std::vector<int>& workers);

/// Returns the batches of a trainer, by its place among the trainers and FeedOptions::pipeline. It is
/// called once for each trainer; the dataset is then iterated many times.
using FedPipeline =
    std::function<Dataset<ColumnBatch>(const World& share, const std::string& pipeline)>;

struct ServeOptions {
  /// Ranks that ask. Requests of others are refused.
  std::vector<int> trainers = {};
  /// Limits of each iteration (memory, threads, tuner). resume, skip, epoch and trace are the
  /// requests'.
  IterateOptions iterate = {};
  /// How often a worker at work says so.
  std::chrono::milliseconds sign_of_life{1'000};
  /// Ends serve_steps() before the trainers do.
  std::stop_token stop = {};
};

struct ServedSteps {
  std::uint64_t steps = 0;   ///< answers: batches, elements' errors, ends
  std::uint64_t ranges = 0;  ///< requests
  std::uint64_t opened = 0;  ///< iterations; a range that follows the last one needs none
};

/// The worker's side: answers requests until its trainers have dismissed it. Errors of the pipeline
/// are answers; it throws those of the communicator.
ServedSteps serve_steps(Communicator& communicator, const FedPipeline& pipeline,
                        const ServeOptions& options);

/// Throws Error(failed_precondition) that names the stage which makes a pipeline too dear to be asked
/// by step: a source whose number of elements isn't known (it would be read from its start for each
/// range), or a stage that has to make all elements before a step and notes no bookmarks. It also
/// names one whose elements come in another order each time. serve_steps() checks it.
void check_can_be_asked_by_step(const Node& node, std::uint64_t bookmark_every = 1024);

}  // namespace infeed
