#include "infeed/device/strategy.h"

#include <algorithm>
#include <cstring>
#include <fmt/format.h>
#include <mutex>
#include <utility>
#include <vector>

#include <infeed/error.h>

#include "nn/variable_state.h"
#include "train/replica_steps.h"

namespace infeed {
namespace {

/// Copies that were equal and went through the same arithmetic are equal bit for bit.
void check_copies(const Variable& variable, std::int64_t step) {
  const std::vector<Tensor>& copies = variable.state().copies;
  const auto first = copies.front().values<float>();
  for (std::size_t replica = 1; replica < copies.size(); ++replica) {
    const auto other = copies[replica].values<float>();
    if (std::memcmp(first.data(), other.data(), first.size_bytes()) == 0) continue;
    std::size_t item = 0;
    while (std::memcmp(&first[item], &other[item], sizeof(float)) == 0) ++item;
    throw Error(ErrorCode::internal,
                fmt::format("step {}: variable {} of replica {} differs from replica 0's at item "
                            "{}: {} instead of {}; mirrored variables change by "
                            "Strategy::apply() and Variable::assign() alone",
                            step, variable.name(), replica, item, other[item], first[item]));
  }
}

}  // namespace

void ReducedStep::add(ReducedStep&& later) {
  number = later.number;
  metrics += later.metrics;
  std::vector<Gradients> both;
  both.push_back(std::move(gradients));
  both.push_back(std::move(later.gradients));
  gradients = detail::sum_of_replicas(both);
  updates = std::move(later.updates);
}

struct Strategy::State {
  State(const Cluster& cluster, StrategyOptions of)
      : options(std::move(of)),
        devices(cluster.devices()),
        steps({.replicas = static_cast<std::int32_t>(devices.size()),
               .threads = options.threads,
               .precision = options.precision,
               .seed = options.seed,
               .even_shares_only = options.even_shares_only,
               .strategy = identity,
               .synchronised = options.synchronised,
               .on_operation = on_operation()}) {}

  std::function<void(std::int32_t, std::string_view, const Shape&)> on_operation() {
    if (!options.on_operation) return {};
    return [this](std::int32_t replica, std::string_view operation, const Shape& shape) {
      const std::lock_guard lock(mutex);
      options.on_operation(devices[static_cast<std::size_t>(replica)], operation, shape);
    };
  }

  const StrategyOptions options;
  const std::vector<LogicalDevice> devices;
  const std::shared_ptr<const void> identity = std::make_shared<int>();
  std::mutex mutex;  ///< one call of on_operation at a time
  detail::ReplicaSteps steps;
  std::int64_t tapes = 0;
  std::vector<std::weak_ptr<detail::ScopeState>> scopes;
};

Strategy::Strategy(const Cluster& cluster, StrategyOptions options)
    : state_(std::make_unique<State>(cluster, std::move(options))) {}

Strategy::~Strategy() = default;

std::int32_t Strategy::num_replicas_in_sync() const {
  return static_cast<std::int32_t>(state_->devices.size());
}

Scope Strategy::scope(ScopeOptions options) const {
  Scope scope(options);
  scope.state_->strategy = state_->identity;
  if (state_->options.checks_mirrors) scope.state_->copies = state_->devices.size();
  state_->scopes.push_back(scope.state_);
  return scope;
}

ReducedStep Strategy::run(const ReplicaFunction& forward, const ColumnBatch& batch,
                          const RunOptions& options) {
  const std::int64_t examples =
      options.examples_of_update > 0 ? options.examples_of_update : batch.rows();
  const std::int64_t number = state_->tapes++;
  detail::ReplicaSteps::Outcome outcome = state_->steps.train(
      forward, batch, {.number = number, .divisor = examples, .loss_scale = options.loss_scale});
  return {.number = number + 1,
          .metrics = outcome.metrics,
          .gradients = std::move(outcome.gradients),
          .updates = std::move(outcome.updates)};
}

void Strategy::apply(ReducedStep&& step, nn::Optimizer& optimizer) {
  for (const auto& [variable, value] : step.updates) {
    Variable changed = variable;
    changed.assign(value);
  }
  optimizer.apply(step.gradients);
  if (!state_->options.checks_mirrors) return;
  for (const auto& scope : state_->scopes) {
    const auto alive = scope.lock();
    if (alive == nullptr) continue;
    for (const Variable& variable : alive->variables) check_copies(variable, step.number);
  }
}

Metrics Strategy::evaluate(const ReplicaFunction& forward, const ColumnBatch& batch) {
  return state_->steps.evaluate(forward, batch, state_->tapes);
}

}  // namespace infeed
