#pragma once

#include <vector>

#include "workload.h"

namespace infeed::autotuning {

/// Workloads that read record files: parsed to batches, and decoded photographs.
std::vector<Workload> record_workloads();

}  // namespace infeed::autotuning
