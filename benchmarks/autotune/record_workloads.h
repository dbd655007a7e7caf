#pragma once

#include <vector>

#include "workload.h"

namespace infeed::autotuning {

/// Those that read record files: parsed to batches, and photographs that are decoded.
std::vector<Workload> record_workloads();

}  // namespace infeed::autotuning
