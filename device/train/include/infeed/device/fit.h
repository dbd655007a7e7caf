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
#include <infeed/device/slice.h>
#include <infeed/device/step_accounting.h>
#include <infeed/device/step_graph.h>
#include <infeed/pipeline/dataset.h>
#include <infeed/pipeline/from_columns.h>

/// Why: the loop that everybody writes (epochs, validation, accumulation, saving, going on after a
/// crash), once, with the gradients of tf.distribute's semantics whatever the number of replicas.
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
/// A global batch is divided over the slice's replicas (examples_of_replica); each one's losses are
/// divided by the examples of all of them, and the gradients are added by a fixed tree. So uneven
/// shares, and replicas without one, give the gradients of the whole batch. The same seed and
/// batches give the same weights bit for bit, on any number of threads, and whenever the run was
/// killed and resumed.
///
/// Errors: what the dataset throws, as it comes; invalid_argument, with step and replica, for NaN or
/// infinity in the data or the loss and for what the function refuses; resource_exhausted, with what is
/// largest, when the slice's memory can't hold a step (hbm_need.h); failed_precondition when a
/// checkpoint doesn't fit; data_loss when it is damaged. The steps before stay done.
/// Thread-safety: one fit() of a scope at a time.
namespace infeed {

class DistributedDataset;
class Strategy;

struct Training {
  Scope scope;  ///< of all variables, the optimiser's and the loss scale's too
  ReplicaFunction forward;
  nn::Optimizer* optimizer = nullptr;   ///< of the caller
  nn::LossScale* loss_scale = nullptr;  ///< for mixed_float16; of the caller
  /// The columns of each batch; a validation's batches may have any number of rows.
  InputSignature inputs = {};
};

/// Which of several hosts this process is; callbacks that belong to the chief run on host 0 alone.
struct Worker {
  std::int32_t index = 0;
  bool is_chief() const { return index == 0; }
};

struct FitOptions {
  std::int64_t epochs = 1;  ///< those of before a resume among them
  /// 0: an epoch is an iteration of the dataset. Otherwise one iteration goes on through all epochs;
  /// it must not end before them.
  std::int64_t steps_per_epoch = 0;
  std::int64_t steps_per_execution = 1;  ///< callbacks come every so many steps
  /// The gradients of so many batches are added up for one update.
  std::int64_t batches_per_update = 1;
  Precision precision = Precision::float32;
  double clip_norm = 0;    ///< of the gradients of all variables together; 0: not clipped
  std::uint64_t seed = 0;  ///< of dropout
  /// A batch whose rows the replicas can't share evenly is an error.
  bool even_shares_only = false;
  /// Replicas meet within a step, so that batch norms that are synchronised see all examples; each
  /// replica then has a thread, whatever `threads` says.
  bool synchronised = false;
  Dataset<ColumnBatch> validation = {};  ///< after each epoch, once
  /// Goes on from the newest checkpoint in this folder, if there is one; empty: begins.
  std::string resume_from = {};
  std::vector<std::shared_ptr<Callback>> callbacks = {};
  Worker worker = {};
  std::int32_t threads = 0;  ///< 0: one a CPU of this process, at most one a replica
  /// Ahead: a thread fills the replicas' queues while they compute. What waits in them belongs to no
  /// checkpoint: whoever resumes gets it anew.
  InfeedFeed feed = InfeedFeed::ahead;
  std::int32_t queue_depth = 2;  ///< steps that each replica's queue holds
  /// Of the training's iterations; resume, epoch and stop are set by fit().
  IterateOptions iterate = {};
  /// What a step of the model costs the slice; without it that of its graph (step_graph.h).
  std::optional<Workload> workload = std::nullopt;
  std::stop_token stop = {};  ///< ends before the next step
  /// After each step, with its number (from 1, of all epochs) and what it came to.
  std::function<void(std::int64_t step, const Metrics& metrics)> on_step = {};
};

struct FitResult {
  std::vector<EpochLogs> epochs = {};  ///< those before a resume among them
  std::int64_t steps = 0;              ///< of all epochs; batches, not updates
  std::int64_t resumed_at = 0;         ///< the step; 0: it began
  std::uint64_t order_hash = 0;        ///< of all batches, with IterateOptions::order_hash
  RunEnd end = RunEnd::end_of_data;    ///< or cancelled
  std::string stop_reason = {};        ///< of a callback's stop_training()
  TuningReport tuning = {};            ///< of the last iteration of the training data
  /// The account of this process: waiting for input, computing and updating, adding up gradients, idling.
  StepSummary wall = {};
  /// The account of the slice: input arrives as this run's pipeline would make it if nothing held it
  /// up; transfer, compute and all-reduce are the time model's.
  StepSummary simulated = {};
  /// For which batches a step was compiled; simulated has their time as idle.
  std::vector<Compilation> compilations = {};
  std::string slice = {};    ///< its name
  std::string message = {};  ///< that no slice was named, where that is so
  /// The share of the slice's peak that the model takes, by the steady() account.
  double model_flop_utilisation = 0;

  /// `simulated` without what was compiled once, which a run of any length forgets.
  StepSummary steady() const;
  /// Both accounts, in shares of the steps' time that add up to 100 %, what was learnt, and what bounds
  /// the run, for a person:
  ///
  ///     //           wait  transfer  compute  all-reduce   idle      a step
  ///     // host      93.1       0.0      6.0         0.5    0.4    32.10 ms
  ///     // v3-8      97.0       0.1      2.9         0.0    0.0    31.02 ms
  ///     // loss 0.0213, accuracy 99.4 %; model FLOP utilisation 0.1 %; 1 shape of batch compiled in 2.1 s
  std::string table() const;
};

FitResult fit(const Training& training, const Slice& slice, const Dataset<ColumnBatch>& batches,
              const FitOptions& options = {});

/// The same where no slice is named: on one device (Slice::single_device()), as FitResult::message says.
FitResult fit(const Training& training, const Dataset<ColumnBatch>& batches,
              const FitOptions& options = {});

/// The same on a strategy, whose scope the training's is, with a pipeline a host. Precision, seed,
/// threads, even_shares_only and synchronised are the strategy's, feed and queue depth the dataset's.
FitResult fit(const Training& training, const Strategy& strategy, const DistributedDataset& batches,
              const FitOptions& options = {});

/// Loss and hits without an update.
Metrics evaluate(const ReplicaFunction& forward, const Slice& slice,
                 const Dataset<ColumnBatch>& batches, const FitOptions& options = {});

struct PredictOptions {
  Precision precision = Precision::float32;
  std::int32_t threads = 0;    ///< 0: one a CPU of this process, at most one a replica
  InputSignature inputs = {};  ///< the columns of each batch
  IterateOptions iterate = {};
};

/// Returns what the function makes of every example, in the dataset's order: one float32 tensor
/// [examples, ...], the same bits on any number of replicas and threads. It is what the model gives, NaN
/// too.
///
///     auto model = infeed::nn::model_named("mlp", infeed::Scope({.seed = 42}));
///     infeed::Tensor logits = infeed::predict(infeed::predictor(model), slice, column_batches);
///     logits.shape();                                          // [examples, 10]
///
/// Memory: all outputs, which are copied; the tensor has memory that doesn't change (Tensor::adopt).
/// Errors, besides those of above: failed_precondition for a dataset without rows; invalid_argument,
/// with the step, for an output that isn't a row an example, or whose rows have another shape than
/// before; cancelled when iterate.stop ends it.
Tensor predict(const PredictFunction& forward, const Slice& slice,
               const Dataset<ColumnBatch>& batches, const PredictOptions& options = {});
/// The same on a strategy, of whose scope the variables are; precision and threads are its own.
Tensor predict(const PredictFunction& forward, const Strategy& strategy,
               const Dataset<ColumnBatch>& batches, const PredictOptions& options = {});

}  // namespace infeed
