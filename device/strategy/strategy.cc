#include "infeed/device/strategy.h"

#include <algorithm>
#include <bit>
#include <fmt/format.h>
#include <mutex>

#include <infeed/device/all_reduce.h>
#include <infeed/device/device_batch.h>
#include <infeed/error.h>

#include "nn/variable_state.h"
#include "refuse.h"
#include "time/clock_units.h"
#include "train/signature_checks.h"
#include "train/simulated_steps.h"

namespace infeed {
namespace {

/// Throws unless the copies are equal: equal copies stay equal, bit for bit, under the same
/// arithmetic.
void check_copies(const Variable& variable, std::int64_t step) {
  const std::vector<Tensor>& copies = variable.state().copies;
  const auto first = copies.front().values<float>();
  for (std::size_t replica = 1; replica < copies.size(); ++replica) {
    const auto other = copies[replica].values<float>();
    const auto [bad, good] = std::ranges::mismatch(other, first, std::ranges::equal_to(),
                                                   std::bit_cast<std::uint32_t, float>,
                                                   std::bit_cast<std::uint32_t, float>);
    if (bad == other.end()) continue;
    throw Error(ErrorCode::internal,
                fmt::format("step {}: variable {} of replica {} differs from replica 0's at item "
                            "{}: {} instead of {}; mirrored variables change by "
                            "Strategy::apply() and Variable::assign() alone",
                            step, variable.name(), replica, bad - other.begin(), *bad, *good));
  }
}

Cluster single_device_cluster() {
  Cluster cluster(Slice::single_device());
  cluster.initialize();
  return cluster;
}

double factor_of(Reduction reduction, std::size_t replicas) {
  return reduction == Reduction::mean ? 1.0 / static_cast<double>(replicas) : 1.0;
}

}  // namespace

void ReducedStep::add(ReducedStep&& later) {
  number = later.number;
  metrics += later.metrics;
  detail::add_gradients(gradients, std::move(later.gradients));
  updates = std::move(later.updates);
}

struct Strategy::State {
  State(const Cluster& cluster, StrategyOptions of)
      : options(std::move(of)),
        slice(cluster.slice()),
        devices(cluster.devices()),
        steps(replica_options()),
        simulated(slice, {.precision = options.precision,
                          .step = {.synchronised = options.synchronised,
                                   .devices_of_replica = options.devices_of_replica}}) {}

  detail::ReplicaStepsOptions replica_options() {
    return {.replicas = slice.num_replicas(options.devices_of_replica),
            .threads = options.threads,
            .even_shares_only = options.even_shares_only,
            .synchronised = options.synchronised,
            .tape = {.precision = options.precision,
                     .width = options.width,
                     .devices = options.devices_of_replica,
                     .strategy = identity,
                     .seed = options.seed},
            .on_operation = on_operation()};
  }
  std::int32_t replicas() const {
    return static_cast<std::int32_t>(devices.size()) / options.devices_of_replica;
  }
  std::vector<std::int32_t> replicas_of_hosts() const {
    std::vector<std::int32_t> counts;
    for (std::int32_t host = 0; host < slice.num_hosts(); ++host) {
      counts.push_back(slice.replicas_of_host(host) / options.devices_of_replica);
    }
    return counts;
  }
  std::function<void(std::int32_t, const TapeOperation&)> on_operation() {
    if (!options.on_operation) return {};
    return [this](std::int32_t replica, const TapeOperation& operation) {
      const std::lock_guard lock(mutex);
      const std::int32_t of_slice = replica * options.devices_of_replica + operation.device;
      options.on_operation(devices[static_cast<std::size_t>(of_slice)], operation.name,
                           operation.output);
    };
  }
  void check_count(std::int32_t values, std::string_view what) const {
    if (values == replicas()) return;
    detail::refuse("{} of {} replicas, and the strategy has {}", what, values, replicas());
  }

  const StrategyOptions options;
  const Slice slice;
  const std::vector<LogicalDevice> devices;
  const std::shared_ptr<const void> identity = std::make_shared<int>();
  std::mutex mutex;  ///< one call of on_operation at a time
  detail::ReplicaSteps steps;
  detail::SimulatedSteps simulated;
  std::string message;
  std::vector<std::int64_t> device_ns = std::vector<std::int64_t>(devices.size());  ///< on_device()
  std::int64_t tapes = 0;
  std::vector<std::weak_ptr<detail::ScopeState>> scopes;
};

Strategy::Strategy(const Cluster& cluster, StrategyOptions options)
    : state_(std::make_unique<State>(cluster, std::move(options))) {}

Strategy::Strategy(StrategyOptions options)
    : state_(std::make_unique<State>(single_device_cluster(), std::move(options))) {
  state_->message = single_device_message();
}

Strategy::~Strategy() = default;

const std::string& Strategy::message() const { return state_->message; }

const StrategyOptions& Strategy::options() const { return state_->options; }

const Slice& Strategy::slice() const { return state_->slice; }

detail::ReplicaStepsOptions Strategy::replica_options() const { return state_->replica_options(); }

std::int32_t Strategy::num_replicas_in_sync() const { return state_->replicas(); }

Scope Strategy::scope(ScopeOptions options) const {
  Scope scope(options);
  scope.state_->strategy = state_->identity;
  if (state_->options.checks_mirrors)
    scope.state_->copies = static_cast<std::size_t>(state_->replicas());
  state_->scopes.push_back(scope.state_);
  return scope;
}

PerReplica<ColumnBatch> Strategy::shares_of(const ColumnBatch& batch) const {
  std::vector<ColumnBatch> shares = split_over_replicas(batch, state_->replicas());
  state_->steps.check_shares(shares, state_->tapes);
  return PerReplica<ColumnBatch>(std::move(shares));
}

ReducedStep Strategy::run(const ReplicaFunction& forward, const ColumnBatch& batch,
                          const RunOptions& options) {
  return run(forward, shares_of(batch), options);
}

ReducedStep Strategy::run(const ReplicaFunction& forward, const PerReplica<ColumnBatch>& shares,
                          const RunOptions& options) {
  state_->check_count(shares.size(), "shares");
  if (options.inputs != nullptr) {
    detail::check_signature(*options.inputs);
    detail::check_inputs(*options.inputs, shares.values(), state_->tapes);
  }
  const std::int64_t examples = options.examples_of_update > 0 ? options.examples_of_update
                                                               : detail::rows_of(shares.values());
  const std::int64_t number = state_->tapes++;
  detail::ReplicaSteps::Outcome outcome = state_->simulated.train(
      state_->steps, forward, shares.values(),
      {.number = number, .divisor = examples, .loss_scale = options.loss_scale},
      shares.service_ns());
  return {.number = number + 1,
          .metrics = outcome.metrics,
          .gradients = std::move(outcome.gradients),
          .updates = std::move(outcome.updates)};
}

void Strategy::apply(ReducedStep&& step, nn::Optimizer& optimizer) {
  detail::assign_all(step.updates);
  optimizer.apply(step.gradients);
  if (!state_->options.checks_mirrors) return;
  for (const auto& scope : state_->scopes) {
    const auto alive = scope.lock();
    if (alive == nullptr) continue;
    for (const Variable& variable : alive->variables) check_copies(variable, step.number);
  }
}

Metrics Strategy::evaluate(const ReplicaFunction& forward, const ColumnBatch& batch) {
  return evaluate(forward, shares_of(batch));
}

Metrics Strategy::evaluate(const ReplicaFunction& forward, const PerReplica<ColumnBatch>& shares) {
  state_->check_count(shares.size(), "shares");
  return state_->steps.evaluate(forward, shares.values(), state_->tapes);
}

const std::vector<Compilation>& Strategy::compilations() const {
  return state_->simulated.compilations();
}

StepSummary Strategy::simulated() const { return state_->simulated.summary(); }

DistributedDataset Strategy::distribute(std::vector<std::string> files,
                                        const HostPipeline& pipeline,
                                        DistributeOptions options) const {
  return {state_->replicas_of_hosts(), std::move(files), pipeline, options};
}

DistributedDataset Strategy::distribute(Dataset<ColumnBatch> global,
                                        DistributeOptions options) const {
  return {state_->replicas_of_hosts(), std::move(global), options};
}

void Strategy::on_each(const PerReplica<ColumnBatch>& shares, const OnReplica& function) {
  state_->check_count(shares.size(), "shares");
  state_->steps.each(function, shares.values(), state_->tapes);
}

DeviceTime Strategy::run_alone(std::string_view device,
                               const std::function<void(Tape& tape)>& function) {
  const std::int32_t number = state_->slice.device_named(device);
  const std::int32_t of_replica = state_->options.devices_of_replica;
  const std::int64_t begin_ns = detail::monotonic_ns();
  state_->steps.alone(function, number / of_replica, number % of_replica, state_->tapes);
  const std::int64_t compute_ns = detail::monotonic_ns() - begin_ns;
  const auto i = static_cast<std::size_t>(number);
  state_->device_ns[i] += compute_ns;
  return {
      .device = state_->devices[i], .compute_ns = compute_ns, .device_ns = state_->device_ns[i]};
}

double Strategy::reduce(Reduction reduction, const PerReplica<double>& values) const {
  state_->check_count(values.size(), "values");
  std::vector<double> parts = values.values();
  for (double& part : parts) part *= factor_of(reduction, parts.size());
  for (std::size_t step = 1; step < parts.size(); step *= 2) {
    for (std::size_t i = 0; i + step < parts.size(); i += 2 * step) parts[i] += parts[i + step];
  }
  return parts[0];
}

Tensor Strategy::reduce(Reduction reduction, const PerReplica<Tensor>& values) const {
  state_->check_count(values.size(), "values");
  std::vector<Tensor> parts;
  std::vector<float*> addresses;
  for (const Tensor& value : values.values()) {
    if (value.dtype() != DType::float32 || !(value.shape() == values[0].shape())) {
      detail::refuse(
          "{} {} of replica {} can't be added to replica 0's, {} {}; all must be float32 and of "
          "one shape",
          to_string(value.dtype()), value.shape().to_string(), parts.size(),
          to_string(values[0].dtype()), values[0].shape().to_string());
    }
    parts.push_back(Tensor::copy_of(value.shape(), value.values<float>()));
    const std::span<float> items = parts.back().writable<float>();
    const auto factor = static_cast<float>(factor_of(reduction, values.values().size()));
    for (float& item : items) item *= factor;
    addresses.push_back(items.data());
  }
  tree_reduce(addresses, 0, parts[0].shape().items());
  return parts[0];
}

}  // namespace infeed
