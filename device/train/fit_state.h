#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include <infeed/device/callbacks.h>
#include <infeed/device/tape.h>
#include <infeed/device/variable.h>
#include <infeed/device/variable_state.h>
#include <infeed/pipeline/checkpoint.h>
#include <infeed/records/training_checkpoint.h>

#include "train/fit_progress.h"

// The state of a fit() in a checkpoint: its parts and their names stand here alone.

namespace infeed::detail {

struct FitState {
  const Scope& scope;
  const FitProgress& progress;
  const Gradients& group;  ///< gradients that wait for their update
  std::span<const Checkpoint> places = {};
  const std::string& configuration;
  std::span<const NamedBytes> callbacks = {};
};

TrainingState training_state(const FitState& state);

/// Reads back what training_state() made. Throws where it belongs to another configuration.
FitProgress restore_progress(const TrainingCheckpoint& saved, const std::string& configuration,
                             const std::string& folder);
/// Sets the variables, and returns the gradients that wait for their update.
Gradients restore_tensors(const TrainingCheckpoint& saved, const Scope& scope,
                          const std::string& folder);
std::vector<Checkpoint> restore_places(const TrainingCheckpoint& saved);
void restore_callbacks(const TrainingCheckpoint& saved,
                       std::span<const std::shared_ptr<Callback>> callbacks);

std::vector<NamedBytes> states_of(std::span<const std::shared_ptr<Callback>> callbacks);

}  // namespace infeed::detail
