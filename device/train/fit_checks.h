#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "infeed/device/fit.h"
#include "train/fit_progress.h"
#include "train/replica_steps.h"

// Parts of fit() that keep no state of the run.

namespace infeed::detail {

/// Throws invalid_argument.
void check_fit(const Training& training, const FitOptions& options);

ReplicaStepsOptions replica_options(const Slice& slice, const FitOptions& options,
                                    const Scope* scope = nullptr);

/// Returns the settings that the bits depend on, as text for a checkpoint.
std::string configuration_of(const Slice& slice, const FitOptions& options);
/// Throws failed_precondition that names the differences.
void check_configuration(std::string_view saved, std::string_view here, const std::string& folder);

/// Limits a count to the time model's narrower integer.
std::int32_t clamped(std::int64_t count);

/// True if this worker calls the callback.
bool is_called(const Callback& callback, const Worker& worker);

/// Returns this rank among those that train together. Throws invalid_argument for more ranks than
/// replicas, and for synchronised replicas.
std::shared_ptr<TrainingRanks> join_ranks(Communicator& communicator,
                                          const ReplicaStepsOptions& replicas, const Scope& scope);

/// Throws failed_precondition if the data may not end here.
void check_end_of_data(const FitProgress& progress, std::int64_t steps_per_epoch);

/// Returns names, shapes and a checksum of all values.
std::string summary_of(const std::vector<Variable>& variables);

/// Throws failed_precondition if the scope has none.
Variable variable_named(std::string_view name, const Scope& scope, const std::string& folder);

/// Calls `next` unless a stop was requested. It returns false at the end of the data, and may throw
/// cancelled because of the stop.
StepStart start_unless_stopped(const std::stop_token& stop, const std::function<bool()>& next);

/// Calls `step` with the shares of each batch, one a replica, and its number from 0. Returns false
/// if stopped. `ranks`: those that take the steps together; may be null.
using OnShares = std::function<void(std::span<const ColumnBatch> shares, std::int64_t number)>;
bool for_each_step(const Dataset<ColumnBatch>& batches, std::int32_t replicas,
                   const IterateOptions& options, const OnShares& step,
                   TrainingRanks* ranks = nullptr);

/// Returns the metrics of all batches; nothing if stopped.
std::optional<Metrics> evaluate_all(ReplicaSteps& replicas, const ReplicaFunction& forward,
                                    const Dataset<ColumnBatch>& batches, const FitOptions& options,
                                    const InputSignature& inputs = {});

void scale_gradients(Gradients& gradients, float factor);
/// Throws invalid_argument with the variable whose gradient isn't finite.
[[noreturn]] void refuse_gradients(const Gradients& gradients, std::int64_t step);

}  // namespace infeed::detail
