#pragma once

#include <cstdint>
#include <span>

#include <infeed/device/step_graph.h>

namespace infeed::detail {

/// A kernel's output lives from its forward to its backward pass, the gradient of it from the backward
/// pass of the last kernel that read it to its own. The largest are placed first, each at the lowest
/// place that is free while it lives ("greedy by size", Pisarchyk and Lee, arXiv:2001.03288).
GraphMemory graph_memory(std::span<const GraphOperation> operations, std::int32_t kernels,
                         std::int64_t bytes_of_value);

}  // namespace infeed::detail
