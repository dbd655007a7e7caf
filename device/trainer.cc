#include "infeed/device/trainer.h"

#include <algorithm>
#include <fmt/format.h>
#include <stop_token>
#include <thread>
#include <utility>
#include <vector>

#include <infeed/device/all_reduce.h>
#include <infeed/device/cost_model.h>
#include <infeed/error.h>

#include "replica_pool.h"
#include "replica_work.h"

namespace infeed {
namespace {

/// Parameters that one thread reduces and updates at a time: 64 KiB, about 20 us.
constexpr std::int64_t kUpdateBlock = 16'384;

std::int32_t thread_count(const TrainerOptions& options, std::int32_t replicas) {
  if (options.threads < 0) {
    throw Error(
        ErrorCode::invalid_argument,
        fmt::format("{} training threads; give at least 1, or 0 for one a CPU", options.threads));
  }
  const std::int32_t cpus = static_cast<std::int32_t>(std::thread::hardware_concurrency());
  return std::clamp(options.threads == 0 ? cpus : options.threads, 1, replicas);
}

void check_batch(const GlobalBatch& batch, const ModelSpec& spec) {
  const auto refuse = [](std::string message) {
    throw Error(ErrorCode::invalid_argument, std::move(message));
  };
  if (batch.examples < 1) refuse("a batch without examples; training needs at least one");
  if (batch.features.empty() || batch.features.features_per_example != spec.input_features) {
    refuse(fmt::format("a batch has {} features an example; model {} expects {}",
                       batch.features.empty() ? 0 : batch.features.features_per_example,
                       spec.to_string(), spec.input_features));
  }
  if (static_cast<std::int64_t>(batch.labels.size()) != batch.examples) {
    refuse(fmt::format("a batch of {} examples has {} labels; expected one an example",
                       batch.examples, batch.labels.size()));
  }
  for (std::size_t i = 0; i < batch.labels.size(); ++i) {
    if (batch.labels[i] < 0 || batch.labels[i] >= spec.classes()) {
      refuse(fmt::format("label {} of example {} in its batch; model {} has classes 0 to {}",
                         batch.labels[i], i, spec.to_string(), spec.classes() - 1));
    }
  }
}

enum class BackwardPass { run, skip };

template <typename Step>
TrainResult run_source(BatchSource& source, const TrainLimits& limits, Step step) {
  const std::stop_callback on_stop(limits.stop, [&] {
    if (source.cancel) source.cancel();
  });
  TrainResult result;
  while (limits.steps_max == 0 || result.steps < limits.steps_max) {
    GlobalBatch batch;
    try {
      if (limits.stop.stop_requested() || !source.next(batch)) break;
    } catch (const Error& error) {
      if (error.code() != ErrorCode::cancelled || !limits.stop.stop_requested()) throw;
      break;
    }
    const Metrics metrics = step(batch);
    result.metrics += metrics;
    ++result.steps;
    if (limits.on_step) limits.on_step(result.steps, metrics);
  }
  if (limits.stop.stop_requested()) {
    result.end = RunEnd::cancelled;
  } else if (limits.steps_max > 0 && result.steps == limits.steps_max) {
    result.end = RunEnd::steps_max;
  }
  return result;
}

}  // namespace

struct Trainer::Impl {
  Impl(ModelSpec spec, const Slice& on, const TrainerOptions& options)
      : slice(on),
        model(std::move(spec), {.seed = options.seed}),
        adam(static_cast<std::int64_t>(model.parameters().size()), options.adam),
        workload(workload_of(model.spec())),
        pool(thread_count(options, on.num_replicas())),
        accounting(on.num_replicas()),
        partial(static_cast<std::size_t>(on.num_replicas())) {
    const detail::ProductOptions product{
        .rounding = options.mixed_bfloat16 ? detail::Rounding::bfloat16 : detail::Rounding::none};
    for (std::int32_t r = 0; r < on.num_replicas(); ++r) replicas.emplace_back(product);
  }

  /// Every replica runs forward, and backward if asked; metrics are added up in replica order.
  Metrics run_replicas(const GlobalBatch& batch, BackwardPass backward) {
    check_batch(batch, model.spec());
    const auto shares = split_over_replicas(batch, slice.num_replicas());
    pool.run(slice.num_replicas(), [&](std::int32_t number) {
      const std::size_t r = static_cast<std::size_t>(number);
      partial[r] = replicas[r].forward(model, shares[r]);
      if (backward == BackwardPass::run) replicas[r].backward(model, shares[r], batch.examples);
    });
    Metrics sum;
    for (const Metrics& metrics : partial) sum += metrics;
    return sum;
  }

  void all_reduce_and_update() {
    std::vector<float*> gradients;
    for (detail::ReplicaWork& replica : replicas) gradients.push_back(replica.gradients());
    const std::int64_t size = static_cast<std::int64_t>(model.parameters().size());
    adam.begin_step();
    const std::int64_t blocks = (size + kUpdateBlock - 1) / kUpdateBlock;
    pool.run(static_cast<std::int32_t>(blocks), [&](std::int32_t block) {
      const std::int64_t begin = block * kUpdateBlock;
      const std::int64_t end = std::min(begin + kUpdateBlock, size);
      tree_reduce(gradients, begin, end);
      adam.update(model.parameters(), {gradients[0], static_cast<std::size_t>(size)}, begin, end);
    });
  }

  /// The step's place in simulated time: its transfer runs while the step before computes.
  void account(const GlobalBatch& batch) {
    const StepTime time = step_time(workload, slice, batch.examples);
    const std::int64_t per_replica =
        (batch.bytes + slice.num_replicas() - 1) / slice.num_replicas();
    const std::int64_t transfer =
        transfer_ps(slice.chip(), per_replica * slice.replicas_per_chip());
    std::vector<StepEvent> events;
    events.reserve(replicas.size());
    for (std::int32_t r = 0; r < slice.num_replicas(); ++r) {
      events.push_back({.step = adam.steps() - 1,
                        .replica = r,
                        .examples = examples_of_replica(batch.examples, slice.num_replicas(), r),
                        .begin_ps = simulated_end_ps,
                        .transfer_ps = std::max<std::int64_t>(0, transfer - simulated_step_ps),
                        .compute_ps = time.compute_ps,
                        .all_reduce_ps = time.all_reduce_ps});
    }
    accounting.add(events);
    simulated_end_ps = events[0].end_ps();
    simulated_step_ps = time.total_ps();
  }

  Slice slice;
  DenseModel model;
  Adam adam;
  Workload workload;
  detail::ReplicaPool pool;
  StepAccounting accounting;
  std::int64_t simulated_end_ps = 0;
  std::int64_t simulated_step_ps = 0;
  std::vector<detail::ReplicaWork> replicas;
  std::vector<Metrics> partial;
};

Trainer::Trainer(ModelSpec spec, const Slice& slice, TrainerOptions options)
    : impl_(std::make_unique<Impl>(std::move(spec), slice, options)) {}
Trainer::~Trainer() = default;
Trainer::Trainer(Trainer&&) noexcept = default;
Trainer& Trainer::operator=(Trainer&&) noexcept = default;

Metrics Trainer::train_step(const GlobalBatch& batch) {
  const Metrics metrics = impl_->run_replicas(batch, BackwardPass::run);
  impl_->all_reduce_and_update();
  impl_->account(batch);
  return metrics;
}

Metrics Trainer::evaluate_step(const GlobalBatch& batch) {
  return impl_->run_replicas(batch, BackwardPass::skip);
}

TrainResult Trainer::train(BatchSource& source, const TrainLimits& limits) {
  return run_source(source, limits, [this](const GlobalBatch& b) { return train_step(b); });
}

TrainResult Trainer::evaluate(BatchSource& source, const TrainLimits& limits) {
  return run_source(source, limits, [this](const GlobalBatch& b) { return evaluate_step(b); });
}

const DenseModel& Trainer::model() const { return impl_->model; }
const Adam& Trainer::optimizer() const { return impl_->adam; }

void Trainer::restore(DenseModel model, Adam optimizer) {
  if (model.spec() != impl_->model.spec() ||
      optimizer.first_moments().size() != model.parameters().size()) {
    throw Error(ErrorCode::failed_precondition,
                fmt::format("saved model {} with optimizer state of {} elements doesn't fit this "
                            "trainer's model {}",
                            model.spec().to_string(), optimizer.first_moments().size(),
                            impl_->model.spec().to_string()));
  }
  impl_->model = std::move(model);
  impl_->adam = std::move(optimizer);
}

StepSummary Trainer::simulated() const { return impl_->accounting.summary(); }

}  // namespace infeed
