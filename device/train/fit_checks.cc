#include "train/fit_checks.h"

#include <algorithm>
#include <fmt/format.h>
#include <limits>
#include <set>
#include <utility>

#include <infeed/device/device_batch.h>
#include <infeed/error.h>
#include <infeed/records/crc32c.h>

#include "nn/variable_state.h"
#include "refuse.h"
#include "train/signature_checks.h"

namespace infeed::detail {
namespace {

void check_count(std::string_view name, std::int64_t count, std::int64_t least) {
  if (count >= least) return;
  refuse("FitOptions::{} is {}; take {} or more", name, count, least);
}

}  // namespace

void check_fit(const Training& training, const FitOptions& options) {
  if (!training.forward) refuse("fit() needs Training::forward, the function that it trains");
  if (training.optimizer == nullptr) refuse("fit() needs Training::optimizer");
  check_signature(training.inputs);
  check_count("epochs", options.epochs, 0);
  check_count("steps_per_epoch", options.steps_per_epoch, 0);
  check_count("steps_per_execution", options.steps_per_execution, 1);
  check_count("batches_per_update", options.batches_per_update, 1);
  check_count("threads", options.threads, 0);
  check_count("queue_depth", options.queue_depth, 1);
  if (!(options.clip_norm >= 0)) {
    refuse("FitOptions::clip_norm is {}; take 0 or more", options.clip_norm);
  }
  if (options.precision == Precision::mixed_float16 && training.loss_scale == nullptr) {
    refuse(
        "mixed_float16 without Training::loss_scale: gradients below 2^-24 would vanish; make an "
        "nn::LossScale in the scope, or take mixed_bfloat16, which needs none");
  }
  std::set<std::string_view> names;
  for (const std::shared_ptr<Callback>& callback : options.callbacks) {
    if (callback == nullptr) refuse("one of FitOptions::callbacks is null");
    if (names.insert(callback->name()).second) continue;
    refuse(
        "two callbacks are named '{}', under which a checkpoint holds one; give one of them "
        "another name()",
        callback->name());
  }
}

ReplicaStepsOptions replica_options(const Slice& slice, const FitOptions& options,
                                    const Scope* scope) {
  std::shared_ptr<const void> strategy;
  if (scope != nullptr && !scope->variables().empty()) {
    strategy = scope->variables().front().state().strategy;
  }
  return {
      .replicas = slice.num_replicas(),
      .threads = options.threads,
      .even_shares_only = options.even_shares_only,
      .synchronised = options.synchronised,
      .tape = {
          .precision = options.precision, .strategy = std::move(strategy), .seed = options.seed}};
}

std::string configuration_of(const Slice& slice, const FitOptions& options) {
  return fmt::format(
      "replicas {}\nseed {}\nprecision {}\nbatches_per_update {}\nsteps_per_epoch {}\nclip_norm "
      "{}\n",
      slice.num_replicas(), options.seed, to_string(options.precision), options.batches_per_update,
      options.steps_per_epoch, options.clip_norm);
}

void check_configuration(std::string_view saved, std::string_view here, const std::string& folder) {
  while (!here.empty() || !saved.empty()) {
    const std::string_view of_saved = saved.substr(0, saved.find('\n'));
    const std::string_view of_here = here.substr(0, here.find('\n'));
    if (of_saved != of_here) {
      throw Error(
          ErrorCode::failed_precondition,
          fmt::format("the checkpoint was made with '{}', and this fit() has '{}': it would "
                      "not go on as it was; take the options of before, or begin in another "
                      "folder",
                      of_saved, of_here))
          .at_file(folder);
    }
    saved.remove_prefix(std::min(of_saved.size() + 1, saved.size()));
    here.remove_prefix(std::min(of_here.size() + 1, here.size()));
  }
}

std::int32_t clamped(std::int64_t count) {
  return static_cast<std::int32_t>(
      std::min<std::int64_t>(count, std::numeric_limits<std::int32_t>::max()));
}

bool is_called(const Callback& callback, const Worker& worker) {
  return worker.is_chief() || callback.runs_on() == RunsOn::every_worker;
}

std::shared_ptr<TrainingRanks> join_ranks(Communicator& communicator,
                                          const ReplicaStepsOptions& replicas, const Scope& scope) {
  if (replicas.synchronised) {
    refuse(
        "synchronised replicas on {} ranks: replicas of several processes can't meet in a step; "
        "train without synchronised batch norms, or in one process",
        communicator.world().size);
  }
  return std::make_shared<TrainingRanks>(communicator, replicas.replicas, scope.variables());
}

void check_end_of_data(const FitProgress& progress, std::int64_t steps_per_epoch) {
  if (steps_per_epoch > 0) {
    throw Error(ErrorCode::failed_precondition,
                fmt::format("the data ended after {} of the {} steps of epoch {}; put repeat() "
                            "into the dataset, or leave steps_per_epoch at 0 for one iteration "
                            "an epoch",
                            progress.step_of_epoch, steps_per_epoch, progress.epoch + 1));
  }
  if (progress.step_of_epoch > 0) return;
  throw Error(ErrorCode::failed_precondition,
              fmt::format("the dataset gave no batch in epoch {}; fewer rows than a batch with "
                          "drop_remainder give none",
                          progress.epoch + 1));
}

/// Returns names, shapes and a checksum of all values.
std::string summary_of(const std::vector<Variable>& variables) {
  std::string text;
  std::uint32_t crc = 0;
  for (const Variable& variable : variables) {
    const Tensor value = variable.value();
    const std::span<const float> values = value.values<float>();
    crc = extend_crc32c(crc, {reinterpret_cast<const char*>(values.data()), values.size_bytes()});
    text += fmt::format("{} {}, ", variable.name(), variable.shape().to_string());
  }
  return fmt::format("{}values {:08x}", text, crc);
}

Variable variable_named(std::string_view name, const Scope& scope, const std::string& folder) {
  const std::vector<Variable> variables = scope.variables();
  const auto found = std::ranges::find_if(
      variables, [&](const Variable& variable) { return variable.name() == name; });
  if (found != variables.end()) return *found;
  throw Error(ErrorCode::failed_precondition,
              fmt::format("the checkpoint has gradients of a variable {}, which isn't here", name))
      .at_file(folder);
}

StepStart start_unless_stopped(const std::stop_token& stop, const std::function<bool()>& next) {
  if (stop.stop_requested()) return StepStart::stopped;
  try {
    return next() ? StepStart::step : StepStart::end_of_data;
  } catch (const Error& error) {
    if (error.code() != ErrorCode::cancelled || !stop.stop_requested()) throw;
    return StepStart::stopped;
  }
}

bool for_each_step(const Dataset<ColumnBatch>& batches, std::int32_t replicas,
                   const IterateOptions& options, const OnShares& step, TrainingRanks* ranks) {
  std::optional<Iterator<ColumnBatch>> iterator;
  for (std::int64_t number = 0;; ++number) {
    std::optional<ColumnBatch> batch;
    StepStart start = start_unless_stopped(options.stop, [&] {
      if (!iterator) iterator.emplace(batches.iterate(options));
      batch = iterator->next();
      return batch.has_value();
    });
    if (ranks != nullptr) start = ranks->agree({.start = start, .step = number}).start;
    if (start != StepStart::step) return start == StepStart::end_of_data;
    step(split_over_replicas(*batch, replicas), number);
  }
}

std::optional<Metrics> evaluate_all(ReplicaSteps& replicas, const ReplicaFunction& forward,
                                    const Dataset<ColumnBatch>& batches, const FitOptions& options,
                                    const InputSignature& inputs) {
  IterateOptions iterate;
  iterate.executor = options.iterate.executor;
  iterate.threads_max = options.iterate.threads_max;
  iterate.epoch = 0;
  iterate.stop = options.stop;
  Metrics sum;
  const bool is_whole = for_each_step(
      batches, replicas.replicas(), iterate,
      [&](std::span<const ColumnBatch> shares, std::int64_t number) {
        replicas.check_shares(shares, number);
        check_inputs(inputs, shares, number);
        sum += replicas.evaluate(forward, shares, number);
      },
      replicas.ranks());
  return is_whole ? std::optional(sum) : std::nullopt;
}

void scale_gradients(Gradients& gradients, float factor) {
  for (auto& [variable, gradient] : gradients) {
    for (float& value : writable_values(gradient)) value *= factor;
  }
}

void refuse_gradients(const Gradients& gradients, std::int64_t step) {
  for (const auto& [variable, gradient] : gradients) {
    if (nn::all_finite({{variable, gradient}})) continue;
    refuse(
        "step {}: the gradient of {} holds NaN or infinity, though the loss is finite; take a "
        "lower learning rate, or clip_norm",
        step, variable.name());
  }
  refuse("step {}: a gradient holds NaN or infinity", step);
}

}  // namespace infeed::detail
