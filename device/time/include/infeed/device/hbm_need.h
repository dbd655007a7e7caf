#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <infeed/device/cost_model.h>

/// Why: the model's shape tells whether a batch fits a replica's memory, before a run that would
/// fail after minutes of compilation.
///
///     auto slice = infeed::Slice::parse("v3-8");
///     infeed::HbmNeed need = infeed::hbm_need(infeed::workload("bert-large"), slice, 64);
///     infeed::check_hbm(infeed::workload("bert-large"), slice, 64);  // throws when it doesn't fit
///
/// How: counts float32 variables, their gradients, the optimiser's slots, and the outputs that
/// operations keep for the backward pass. A replica of v2 or v3 owns its core's half of the chip's
/// HBM. XLA can compute some outputs again instead of keeping them, so a real run may need less.
///
/// Thread-safety: pure functions. Errors: invalid_argument, resource_exhausted.
namespace infeed {

struct HbmTensor {
  std::string name = {};
  std::int64_t bytes = 0;
};

/// The need of one device, which is a replica unless its layers are split.
struct HbmNeed {
  std::int64_t variables_bytes = 0;
  std::int64_t gradients_bytes = 0;
  std::int64_t slots_bytes = 0;
  std::int64_t activations_bytes = 0;
  std::int64_t available_bytes = 0;
  std::vector<HbmTensor> largest = {};  ///< at most five, the largest first
  std::int64_t bytes() const {
    return variables_bytes + gradients_bytes + slots_bytes + activations_bytes;
  }
  bool fits() const { return bytes() <= available_bytes; }
};

HbmNeed hbm_need(const Workload& workload, const Slice& slice, std::int64_t global_batch,
                 const StepOptions& options = {});

/// Returns the largest global batch that fits; 0: not even one example a replica fits.
std::int64_t largest_batch(const Workload& workload, const Slice& slice,
                           const StepOptions& options = {});

/// Throws resource_exhausted if it doesn't fit; the message names the largest tensors and a remedy.
void check_hbm(const Workload& workload, const Slice& slice, std::int64_t global_batch,
               const StepOptions& options = {});

}  // namespace infeed
