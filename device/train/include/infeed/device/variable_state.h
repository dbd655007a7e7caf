#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include <infeed/device/variable.h>
#include <infeed/records/training_checkpoint.h>

/// Why: the variables of a model and its optimiser go into a training's checkpoint, and come back
/// all at once.
///
///     infeed::Scope scope({.seed = 42});  // of the model and its optimiser
///     infeed::TrainingState state = infeed::state_of(1'234, scope.variables());
///     const auto saved = infeed::TrainingCheckpoint::open(
///         infeed::save_training_checkpoint("run/checkpoints", state));
///     infeed::restore_variables(saved, scope.variables());
///
/// Errors: those of training_checkpoint.h. Thread-safety: as that of the variables.
namespace infeed {

/// Returns the current values of the variables, under their names.
TrainingState state_of(std::uint64_t step, const std::vector<Variable>& variables);

/// Sets all the variables, or none: each needs a float32 tensor of its name and shape. Other tensors
/// must not exist, except those whose names begin with one of `except`. Throws failed_precondition
/// with the tensors that differ.
void restore_variables(const TrainingCheckpoint& saved, const std::vector<Variable>& variables,
                       std::span<const std::string_view> except = {});

}  // namespace infeed
