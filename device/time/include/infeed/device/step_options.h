#pragma once

#include <cstdint>
#include <string_view>

#include <infeed/device/tape.h>

/// Why: the same model on the same slice needs another time and memory with another precision or
/// optimiser.
///
///     infeed::StepOptions options{.precision = infeed::Precision::float32,
///                                 .optimizer = infeed::StepOptimizer::momentum};
///
/// Thread-safety: values and pure functions. Errors: invalid_argument.
namespace infeed {

enum class StepOptimizer : std::uint8_t { sgd, momentum, adam, lars, adamw };

std::string_view to_string(StepOptimizer optimizer);
/// Throws invalid_argument with the known names.
StepOptimizer step_optimizer_from(std::string_view name);

/// Returns the HBM traffic of an update for each float32 variable. sgd reads p and g and writes p;
/// momentum also reads and writes a slot, adam and adamw two; lars is momentum that reads p and g
/// once more for their norms.
std::int64_t update_bytes(StepOptimizer optimizer);
/// Returns the number of values that it keeps for each variable.
std::int64_t optimizer_slots(StepOptimizer optimizer);
/// Returns the TPU's precision for a training's precision: a TPU has no float16, and mixed_bfloat16
/// has as many bytes.
Precision precision_on_tpu(Precision precision);
/// Returns 2 for bfloat16, 4 for float32.
std::int64_t bytes_of_activation(Precision precision);

struct StepOptions {
  /// float32 doubles the traffic; products still go through the arrays in bfloat16, once, as by
  /// default in XLA. mixed_float16 is refused: no TPU has it (precision_on_tpu()).
  Precision precision = Precision::mixed_bfloat16;
  StepOptimizer optimizer = StepOptimizer::adam;
  std::int32_t steps_per_execution = 1;  ///< the host launches the first of so many steps only
  /// Accumulation: gradients of so many steps are all-reduced and applied once; each step bears a
  /// part.
  std::int32_t batches_per_update = 1;
  /// Eager: the host launches each operation, forward and backward, by itself. 20 us a launch is
  /// assumed, as for a call through Python and a runtime.
  bool launches_operations = false;
  /// Replicas meet at each normalisation, to add up its sums (SyncBN).
  bool synchronised = false;
  /// Model parallelism: number of devices that work on one share of the batch (split_workload.h).
  std::int32_t devices_of_replica = 1;
};

}  // namespace infeed
