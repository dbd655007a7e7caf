#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "infeed/device/fit.h"
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

/// Throws failed_precondition if the scope has none.
Variable variable_named(std::string_view name, const Scope& scope, const std::string& folder);

/// Calls `step` with the shares of each batch, one a replica, and its number from 0. Returns false
/// if stopped.
using OnShares = std::function<void(std::span<const ColumnBatch> shares, std::int64_t number)>;
bool for_each_step(const Dataset<ColumnBatch>& batches, std::int32_t replicas,
                   const IterateOptions& options, const OnShares& step);

/// Returns the metrics of all batches; nothing if stopped.
std::optional<Metrics> evaluate_all(ReplicaSteps& replicas, const ReplicaFunction& forward,
                                    const Dataset<ColumnBatch>& batches, const FitOptions& options,
                                    const InputSignature& inputs = {});

void scale_gradients(Gradients& gradients, float factor);
/// Throws invalid_argument with the variable whose gradient isn't finite.
[[noreturn]] void refuse_gradients(const Gradients& gradients, std::int64_t step);

}  // namespace infeed::detail
