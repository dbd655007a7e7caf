#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include <infeed/device/metrics.h>
#include <infeed/device/optimizers.h>
#include <infeed/device/replica_function.h>
#include <infeed/records/column_batch.h>

#include "replica_pool.h"
#include "train/ranks/training_ranks.h"
#include "train/replica_meeting.h"
#include "train/step_trace.h"

// A step of all replicas: shares, forward and backward on the threads, sums by the tree.

namespace infeed::detail {

struct ReplicaStepsOptions {
  std::int32_t replicas = 1;
  std::int32_t threads = 0;  ///< 0: one a CPU of this process
  bool even_shares_only = false;
  /// Each replica has a thread, so that all can meet within a step (SyncBN).
  bool synchronised = false;
  TapeOptions tape = {};  ///< every replica's; ReplicaSteps sets the options that differ from step
                          ///< to step
  /// Called from the replicas' threads.
  std::function<void(std::int32_t replica, const TapeOperation& operation)> on_operation = {};
  /// Runs this rank's replicas only, and adds up with the others; null: runs all.
  std::shared_ptr<TrainingRanks> ranks = nullptr;
};

class ReplicaSteps {
 public:
  explicit ReplicaSteps(ReplicaStepsOptions options);

  std::int32_t replicas() const { return options_.replicas; }
  /// Returns the replicas that run in this process.
  ReplicaRange own() const {
    return options_.ranks ? options_.ranks->own() : ReplicaRange{.count = options_.replicas};
  }
  /// Null: this process runs all replicas.
  TrainingRanks* ranks() const { return options_.ranks.get(); }

  struct Step {
    std::int64_t number = 0;   ///< number of the tape, from 0: for dropout
    std::int64_t divisor = 1;  ///< divisor of the sum of all losses
    const nn::LossScale* loss_scale = nullptr;
    StepTrace* trace = nullptr;  ///< filled by the replica with the largest share, if it runs here
    bool hashes_rows = false;
  };
  struct Outcome {
    Metrics metrics = {};
    Gradients gradients = {};     ///< summed over the replicas, without the loss scale
    Updates updates = {};         ///< means over the replicas
    std::uint64_t rows_hash = 0;  ///< hash of all replicas' rows, if asked for
    std::int64_t compute_ns = 0;  ///< time of the replicas' arithmetic, by the wall's clock
    std::int64_t reduce_ns = 0;   ///< time of the sums over the replicas
  };
  /// Throws invalid_argument for shares of a global batch that can't be trained on.
  void check_shares(std::span<const ColumnBatch> shares, std::int64_t number) const;
  Outcome train(const ReplicaFunction& forward, std::span<const ColumnBatch> shares,
                const Step& step);
  Metrics evaluate(const ReplicaFunction& forward, std::span<const ColumnBatch> shares,
                   std::int64_t number);
  /// Returns the outputs in replica order, without replicas that have no rows. Throws
  /// invalid_argument for an output that isn't one row an example.
  std::vector<Tensor> predict(const PredictFunction& forward, std::span<const ColumnBatch> shares,
                              std::int64_t number);
  /// Calls the function for every replica, also for those without rows, with a tape that records
  /// nothing.
  using OnReplica = std::function<void(std::int32_t replica, Tape& tape, const ColumnBatch& share)>;
  void each(const OnReplica& function, std::span<const ColumnBatch> shares, std::int64_t number);
  /// Calls the function once, in this thread, with the tape of one replica, which meets no other.
  /// `device`: where it runs, counted within the replica.
  void alone(const std::function<void(Tape& tape)>& function, std::int32_t replica,
             std::int32_t device, std::int64_t number);

 private:
  std::function<void(const TapeOperation&)> on_operation_of(std::int32_t replica,
                                                            StepTrace* trace) const;
  TapeOptions tape_options(std::int32_t replica, const Step& step, bool trains) const;
  /// Runs one replica's part; `share` has rows.
  ReplicaOutcome run_replica(std::int32_t replica, const ReplicaFunction& forward,
                             const ColumnBatch& share, std::int64_t first_row, const Step& step,
                             bool trains);
  std::vector<ReplicaOutcome> run(const ReplicaFunction& forward,
                                  std::span<const ColumnBatch> shares, const Step& step,
                                  bool trains);
  /// Calls the task on the threads for each own replica with rows. `first_row`: where in the batch
  /// they begin.
  void on_shares(std::span<const ColumnBatch> shares, std::int64_t number,
                 const std::function<void(std::int32_t replica, std::int64_t first_row)>& task);
  /// Runs the task on the threads, where these replicas can meet; errors get the step and the
  /// replica.
  void on_replicas(const std::vector<std::int32_t>& replicas, std::int64_t number,
                   const std::function<void(std::int32_t replica)>& task);

  ReplicaStepsOptions options_;
  std::vector<TensorPool> pools_;            ///< one a replica
  std::shared_ptr<ReplicaMeeting> meeting_;  ///< null unless synchronised
  ReplicaPool threads_;
};

/// Returns the share that a step is compiled for, the largest (shorter ones are padded); the first
/// of several.
const ColumnBatch& largest_share(std::span<const ColumnBatch> shares);

/// Adds up each variable's gradients by the tree, into its first tensor, which is returned.
Gradients sum_of_replicas(std::span<Gradients> replicas);
void add_gradients(Gradients& sums, Gradients&& added);

void assign_all(const Updates& updates);

std::int64_t rows_of(std::span<const ColumnBatch> shares);

/// Throws invalid_argument, with column, row and item, if a floating-point column isn't finite.
void check_finite(const ColumnBatch& share, std::int64_t first_row);

}  // namespace infeed::detail
