#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <vector>

#include <infeed/device/cost_model.h>
#include <infeed/device/slice.h>

/// Why: the best batch for a slice is found by trying; here without the slice.
namespace infeed::tools {

class Terminal;

/// A global batch and its costs.
struct SweptBatch {
  std::int64_t batch = 0;
  std::int64_t examples_of_replica = 0;
  double step_ms = 0;
  double transfer_ms = 0;  ///< over the hosts' links to their chips; the longer of this and step_ms
                           ///< limits the rate
  double examples_per_s = 0;
  double hbm_gib = 0;  ///< for one replica
  bool fits = false;
  double learning_rate = 0;          ///< linear rule (Goyal et al. 2017): SGD and its kin
  double learning_rate_by_root = 0;  ///< root rule (Malladi et al. 2022): Adam, AdamW
};

struct SweepOptions {
  StepOptions step = {};
  double learning_rate = 0.1;  ///< at `learning_rate_batch`
  std::int64_t learning_rate_batch = 256;
};

/// Tries 1, 2, 4, ... examples a replica, up to the first batch that doesn't fit.
std::vector<SweptBatch> sweep_batch(const Workload& workload, const Slice& slice,
                                    const SweepOptions& options);

/// Prints a table whose last column is the curve of examples a second.
void print_sweep(const std::vector<SweptBatch>& batches, StepOptimizer optimizer,
                 Terminal& terminal);
nlohmann::ordered_json json_of(const std::vector<SweptBatch>& batches);

}  // namespace infeed::tools
