#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include <infeed/device/callbacks.h>
#include <infeed/device/cost_model.h>
#include <infeed/device/device_batch.h>
#include <infeed/device/infeed_queue.h>
#include <infeed/device/input_signature.h>
#include <infeed/device/optimizers.h>
#include <infeed/device/replica_function.h>
#include <infeed/device/shared_batches.h>
#include <infeed/device/slice.h>
#include <infeed/device/step_accounting.h>
#include <infeed/device/step_graph.h>
#include <infeed/pipeline/dataset.h>
#include <infeed/pipeline/from_columns.h>

/// Why: the loop that everybody writes (epochs, validation, accumulation, saving, going on after a
/// crash), written once. Gradients follow tf.distribute's semantics whatever the number of
/// replicas.
///
///     infeed::Scope scope({.seed = 42});
///     auto forward = infeed::classifier(infeed::nn::model_named("mlp", scope));
///     infeed::nn::Adam adam(scope.below("adam"), scope.variables());
///     infeed::FitResult result = infeed::fit(
///         {.scope = scope, .forward = forward, .optimizer = &adam}, slice, column_batches,
///         {.epochs = 10,
///          .resume_from = "run/checkpoints",  // goes on, if there is something
///          .callbacks = {std::make_shared<infeed::SaveCheckpoints>(
///              infeed::SaveCheckpointsOptions{.folder = "run/checkpoints"})}});
///     double accuracy = result.epochs.back().training.accuracy();
///
/// A global batch is divided over the slice's replicas (examples_of_replica). Each replica's losses
/// are divided by the examples of all of them, and the gradients are added by a fixed tree. So
/// uneven shares, and replicas without one, give the gradients of the whole batch. The same seed
/// and batches give the same weights bit for bit, on any number of threads, and whenever the run
/// was killed and resumed.
///
/// Errors: exceptions of the dataset, unchanged; invalid_argument, with step and replica, for NaN
/// or infinity in the data or the loss and for exceptions of the function; resource_exhausted, with
/// the largest tensors, when the slice's memory can't hold a step (hbm_need.h); failed_precondition
/// when a checkpoint doesn't fit, or ranks differ; data_loss when it is damaged; unavailable when a
/// rank is lost. The steps before stay done.
/// Thread-safety: only one fit() of a scope at a time.
namespace infeed {

class Communicator;
class DistributedDataset;
class Strategy;

struct Training {
  Scope scope;  ///< holds all variables, also those of the optimiser and the loss scale
  ReplicaFunction forward;
  nn::Optimizer* optimizer = nullptr;   ///< owned by the caller
  nn::LossScale* loss_scale = nullptr;  ///< for mixed_float16; owned by the caller
  /// The columns of each batch; a validation's batches may have any number of rows.
  InputSignature inputs = {};
};

/// The number of this process among several hosts. Callbacks of the chief run on host 0 alone.
struct Worker {
  std::int32_t index = 0;  ///< fit() takes the communicator's, if there is one
  /// The ranks that train together, owned by the caller; null: this process trains alone. Each calls
  /// fit() with the same arguments and the same data. A rank runs its part of the replicas on its
  /// rows of each batch, and all get the weights of one process, bit for bit. A checkpoint doesn't
  /// hold the number of ranks. All stop behind the same step: when one is asked to stop, fails, or
  /// is lost. In the last two cases the chief's on_cancelled() saves the last whole step, or rank 1's
  /// on_chief_lost() if it is the chief that is lost (RankLost), and fit() throws with the number of
  /// that rank. Synchronised replicas are refused.
  Communicator* communicator = nullptr;
  bool is_chief() const { return index == 0; }
};

struct FitOptions {
  std::int64_t epochs = 1;  ///< includes the epochs before a resume
  /// 0: an epoch is an iteration of the dataset. Otherwise one iteration goes on through all
  /// epochs; it must not end before them.
  std::int64_t steps_per_epoch = 0;
  std::int64_t steps_per_execution = 1;  ///< callbacks are called after so many steps
  /// The gradients of so many batches are added up for one update.
  std::int64_t batches_per_update = 1;
  Precision precision = Precision::float32;
  double clip_norm = 0;    ///< limit for the gradients of all variables together; 0: not clipped
  std::uint64_t seed = 0;  ///< seed of dropout
  /// True: a batch whose rows the replicas can't share evenly is an error.
  bool even_shares_only = false;
  /// True: replicas meet within a step, so that synchronised batch norms see all examples; each
  /// replica then has a thread, whatever `threads` says.
  bool synchronised = false;
  Dataset<ColumnBatch> validation = {};  ///< run once after each epoch
  /// Goes on from the newest checkpoint in this folder, if there is one; empty: begins anew.
  std::string resume_from = {};
  std::vector<std::shared_ptr<Callback>> callbacks = {};
  Worker worker = {};
  std::int32_t threads = 0;  ///< 0: one a CPU of this process, at most one a replica
  /// Ahead: a thread fills the replicas' queues while they compute. Steps that wait in the queues
  /// belong to no checkpoint: a resumed run gets them again.
  InfeedFeed feed = InfeedFeed::ahead;
  std::int32_t queue_depth = 2;  ///< steps that each replica's queue holds
  /// Options of the training's iterations; fit() sets resume, epoch and stop.
  IterateOptions iterate = {};
  /// The cost of a step on the slice; if not given, that of its graph (step_graph.h).
  std::optional<Workload> workload = std::nullopt;
  std::stop_token stop = {};  ///< ends the run before the next step
  /// Called after each step, with its number (from 1, over all epochs) and its metrics.
  std::function<void(std::int64_t step, const Metrics& metrics)> on_step = {};
};

struct FitResult {
  std::vector<EpochLogs> epochs = {};  ///< includes epochs before a resume
  std::int64_t steps = 0;              ///< over all epochs; batches, not updates
  std::int64_t resumed_at = 0;         ///< step at which the run was resumed; 0: it began anew
  std::uint64_t order_hash = 0;        ///< over all batches, with IterateOptions::order_hash
  RunEnd end = RunEnd::end_of_data;    ///< or cancelled
  std::string stop_reason = {};        ///< argument of a callback's stop_training()
  TuningReport tuning = {};            ///< for the last iteration of the training data
  /// The account of this process: waiting for input, computing and updating, adding gradients,
  /// idling.
  StepSummary wall = {};
  /// The account of the slice. Input arrives as this run's pipeline would make it if nothing held
  /// it up; transfer, compute and all-reduce are the time model's.
  StepSummary simulated = {};
  /// Batches for which a step was compiled; `simulated` counts their time as idle.
  std::vector<Compilation> compilations = {};
  std::string slice = {};    ///< name of the slice
  std::string message = {};  ///< says that no slice was named; otherwise empty
  /// The share of the slice's peak that the model takes, by the steady() account.
  double model_flop_utilisation = 0;

  /// `simulated` without the time of compiling, which happens once and doesn't count in a long run.
  StepSummary steady() const;
  /// Both accounts for a person to read: shares of the steps' time that add up to 100 %, the loss,
  /// and the limit of the run:
  ///
  ///     //           wait  transfer  compute  all-reduce   idle      a step
  ///     // host      93.1       0.0      6.0         0.5    0.4    32.10 ms
  ///     // v3-8      97.0       0.1      2.9         0.0    0.0    31.02 ms
  ///     // loss 0.0213, accuracy 99.4 %; model FLOP utilisation 0.1 %; 1 shape of batch compiled in 2.1 s
  std::string table() const;
};

FitResult fit(const Training& training, const Slice& slice, const Dataset<ColumnBatch>& batches,
              const FitOptions& options = {});

/// fit() whose ranks each make their own rows of the batches.
FitResult fit(const Training& training, const Slice& slice, const SharedBatches& batches,
              const FitOptions& options = {});

/// fit() without a slice: on one device (Slice::single_device()); FitResult::message says so.
FitResult fit(const Training& training, const Dataset<ColumnBatch>& batches,
              const FitOptions& options = {});

/// fit() on a strategy, with one pipeline a host. The training's scope must be the strategy's.
/// Precision, seed, threads, even_shares_only and synchronised are the strategy's, feed and queue
/// depth the dataset's.
FitResult fit(const Training& training, const Strategy& strategy, const DistributedDataset& batches,
              const FitOptions& options = {});

/// Computes loss and hits without an update.
Metrics evaluate(const ReplicaFunction& forward, const Slice& slice,
                 const Dataset<ColumnBatch>& batches, const FitOptions& options = {});

struct PredictOptions {
  Precision precision = Precision::float32;
  std::int32_t threads = 0;    ///< 0: one a CPU of this process, at most one a replica
  InputSignature inputs = {};  ///< the columns of each batch
  IterateOptions iterate = {};
};

/// Returns the function's output for every example, in the dataset's order: one float32 tensor
/// [examples, ...], the same bits on any number of replicas and threads. NaN passes unchanged.
///
///     auto model = infeed::nn::model_named("mlp", infeed::Scope({.seed = 42}));
///     infeed::Tensor logits = infeed::predict(infeed::predictor(model), slice, column_batches);
///     logits.shape();                                          // [examples, 10]
///
/// Memory: all outputs, which are copied; the tensor has memory that doesn't change
/// (Tensor::adopt). Errors, besides fit()'s: failed_precondition for a dataset without rows;
/// invalid_argument, with the step, for an output that isn't one row an example, or whose rows have
/// another shape than before; cancelled when iterate.stop ends it.
Tensor predict(const PredictFunction& forward, const Slice& slice,
               const Dataset<ColumnBatch>& batches, const PredictOptions& options = {});
/// predict() on a strategy whose scope holds the variables; precision and threads are the
/// strategy's.
Tensor predict(const PredictFunction& forward, const Strategy& strategy,
               const Dataset<ColumnBatch>& batches, const PredictOptions& options = {});

}  // namespace infeed
