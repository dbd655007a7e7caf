#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include <infeed/device/cluster.h>
#include <infeed/device/distribute.h>
#include <infeed/device/input_signature.h>
#include <infeed/device/metrics.h>
#include <infeed/device/optimizers.h>
#include <infeed/device/per_replica.h>
#include <infeed/device/replica_function.h>
#include <infeed/device/step_accounting.h>
#include <infeed/device/step_graph.h>
#include <infeed/records/column_batch.h>

/// Why: for writing your own training loop over all replicas of a slice. Most programs use fit(),
/// which takes a strategy's scope, too.
///
///     infeed::Cluster cluster = infeed::Cluster::connect("v3-8");
///     cluster.initialize();
///     infeed::Strategy strategy(cluster);
///     infeed::Scope scope = strategy.scope({.seed = 42});
///     auto forward = infeed::classifier(infeed::nn::model_named("mlp", scope));
///     infeed::nn::Adam adam(scope.below("adam"), scope.variables());
///     for (const infeed::ColumnBatch& batch : column_batches.iterate()) {
///       infeed::ReducedStep step = strategy.run(forward, batch);
///       strategy.apply(std::move(step), adam);
///     }
///
/// A batch is the *global* one: its rows are divided over the replicas. If they can't be even, the
/// first replicas get one more; replicas without rows contribute nothing. Losses are divided by the
/// examples of the whole batch and gradients are added by a fixed tree. So uneven shares give the
/// gradients of the whole batch, bit for bit the same on any number of threads.
///
/// Thread-safety: one call at a time.
/// Errors: failed_precondition: a cluster that isn't initialised, a variable of another scope (with
/// its name), a scope's variable read outside run(); invalid_argument, with step and replica: NaN
/// or infinity in data or loss, and exceptions of the function; resource_exhausted: a step that the
/// slice's memory can't hold (hbm_need.h); internal: mirrored variables that differ.
namespace infeed {

namespace detail {
struct ReplicaStepsOptions;
}

struct StrategyOptions {
  Precision precision = Precision::float32;
  VectorWidth width = VectorWidth::widest;  ///< changes no bit of the results
  std::uint64_t seed = 0;                   ///< seed of dropout
  std::int32_t threads = 0;                 ///< 0: one a CPU of this process, at most one a replica
  /// True: a batch whose rows the replicas can't share evenly is an error.
  bool even_shares_only = false;
  /// Devices that a replica is spread over, for layers that are split (split_dense.h); must divide
  /// the devices of a host.
  std::int32_t devices_of_replica = 1;
  /// Replicas meet within a step, so that synchronised batch norms see all examples.
  bool synchronised = false;
  /// Every replica keeps its own copy of each variable, and apply() compares the copies. The price
  /// is their memory and the update's time, times the replicas.
  bool checks_mirrors = false;
  /// For debugging: called for each operation with its device, from the replicas' threads, one call
  /// at a time.
  std::function<void(const LogicalDevice& device, std::string_view operation, const Shape& shape)>
      on_operation = {};
};

/// Results of a step, added up over its replicas.
struct ReducedStep {
  std::int64_t number = 0;  ///< number of the step in this strategy, from 1
  Metrics metrics = {};     ///< sums over the replicas
  Gradients gradients = {};
  Updates updates = {};  ///< running statistics: means over the replicas

  /// Accumulates: adds a later step's gradients and metrics to these; its updates replace these.
  void add(ReducedStep&& later);
};

struct RunOptions {
  /// Divisor of the sum of the losses; 0: the examples of the batch. With accumulation: the
  /// examples of all batches of an update.
  std::int64_t examples_of_update = 0;
  const nn::LossScale* loss_scale = nullptr;  ///< for mixed_float16
  const InputSignature* inputs = nullptr;     ///< the columns of the whole batch; the caller's
};

/// The device that a function of Strategy::on_device() ran on, and its time by this process's
/// clock.
struct DeviceTime {
  LogicalDevice device = {};
  std::int64_t compute_ns = 0;
  std::int64_t device_ns = 0;  ///< total of all calls on this device so far
};

template <class T>
struct OnDevice {
  T value;
  DeviceTime time = {};
};

class Strategy {
 public:
  explicit Strategy(const Cluster& cluster, StrategyOptions options = {});
  /// A strategy without a slice: one device (Slice::single_device()), as tf.distribute's default
  /// strategy, so that the same loop runs with and without a slice:
  ///
  ///     infeed::Strategy single;
  ///     single.num_replicas_in_sync();                           // 1
  ///     log(single.message().c_str());                           // "no slice is named, so ..."
  explicit Strategy(StrategyOptions options = {});
  ~Strategy();
  Strategy(const Strategy&) = delete;
  Strategy& operator=(const Strategy&) = delete;

  std::int32_t num_replicas_in_sync() const;
  /// Returns a scope whose variables are mirrored: run() may read these and no others.
  Scope scope(ScopeOptions options = {}) const;

  /// Runs forward and backward on each replica's share, then the all-reduce.
  ReducedStep run(const ReplicaFunction& forward, const ColumnBatch& batch,
                  const RunOptions& options = {});
  /// Updates the variables of all replicas.
  void apply(ReducedStep&& step, nn::Optimizer& optimizer);
  /// Computes loss and hits without gradients.
  Metrics evaluate(const ReplicaFunction& forward, const ColumnBatch& batch);

  /// Distributes input over hosts and replicas (distribute.h). A batch of its iterator is the
  /// replicas' shares.
  DistributedDataset distribute(std::vector<std::string> files, const HostPipeline& pipeline,
                                DistributeOptions options) const;
  DistributedDataset distribute(Dataset<ColumnBatch> global, DistributeOptions options) const;
  ReducedStep run(const ReplicaFunction& forward, const PerReplica<ColumnBatch>& shares,
                  const RunOptions& options = {});
  Metrics evaluate(const ReplicaFunction& forward, const PerReplica<ColumnBatch>& shares);

  /// Compilations so far: each new shape of a share is compiled anew (step_graph.h).
  const std::vector<Compilation>& compilations() const;
  /// Returns the time that the steps of run() would have taken on the slice. Shares of a
  /// DistributedIterator arrive as its pipelines made them, others are always ready. The update is
  /// counted as Adam's, since run() doesn't know the optimiser; fit() does.
  StepSummary simulated() const;

  /// Divides a batch as run() does.
  PerReplica<ColumnBatch> shares_of(const ColumnBatch& batch) const;
  /// Calls a function on each replica, also on those without rows, and returns the values:
  ///
  ///     double total = strategy.reduce(infeed::Reduction::sum,
  ///         strategy.each(strategy.shares_of(columns),
  ///                       [](infeed::Tape&, const infeed::ColumnBatch& share) {
  ///                         return static_cast<double>(share.rows());
  ///                       }));
  ///
  /// The function may read the variables of the scope. Nothing is recorded for gradients.
  template <class Function>
  auto each(const PerReplica<ColumnBatch>& shares, const Function& function) {
    using Value = std::invoke_result_t<const Function&, Tape&, const ColumnBatch&>;
    std::vector<std::optional<Value>> found(static_cast<std::size_t>(shares.size()));
    on_each(shares, [&](std::int32_t replica, Tape& tape, const ColumnBatch& share) {
      found[static_cast<std::size_t>(replica)].emplace(function(tape, share));
    });
    std::vector<Value> values;
    for (std::optional<Value>& value : found) values.push_back(std::move(*value));
    return PerReplica<Value>(std::move(values));
  }
  /// Runs a function that returns a value on one device, once and in this thread, as under
  /// tf.device("TPU:3"): for debugging. `device`: a name for Slice::device_named().
  ///
  ///     auto on_third = strategy.on_device("TPU:3", [](infeed::Tape& tape) {
  ///       return tape.constant(infeed::Tensor::copy_of({2}, {1.0F, 2.0F})).values()[1];
  ///     });
  ///     on_third.value;                                          // 2
  ///
  /// The function may read this replica's copy of the variables. Its exceptions pass unchanged.
  template <class Function>
  auto on_device(std::string_view device, const Function& function) {
    std::optional<std::invoke_result_t<const Function&, Tape&>> found;
    const DeviceTime time = run_alone(device, [&](Tape& tape) { found.emplace(function(tape)); });
    return OnDevice<std::invoke_result_t<const Function&, Tape&>>{std::move(*found), time};
  }
  /// Adds by the tree of all_reduce.h; float32 tensors of one shape.
  double reduce(Reduction reduction, const PerReplica<double>& values) const;
  Tensor reduce(Reduction reduction, const PerReplica<Tensor>& values) const;

  /// Empty on a cluster's slice; otherwise the text of single_device_message().
  const std::string& message() const;
  const StrategyOptions& options() const;
  const Slice& slice() const;
  /// The options of this strategy, for fit().
  detail::ReplicaStepsOptions replica_options() const;

 private:
  using OnReplica = std::function<void(std::int32_t replica, Tape& tape, const ColumnBatch& share)>;
  DeviceTime run_alone(std::string_view device, const std::function<void(Tape& tape)>& function);
  void on_each(const PerReplica<ColumnBatch>& shares, const OnReplica& function);

  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace infeed
