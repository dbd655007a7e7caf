#pragma once

#include <cstdint>

#include <infeed/pipeline/checkpoint.h>
#include <infeed/pipeline/node.h>

namespace infeed::detail {

/// Returns where another number of shards goes on. Each element of the checkpoint's pipeline is a
/// share of `global_batch` elements of the stream before shard. Throws as reshard_checkpoint().
Checkpoint resharded_at_step(const Checkpoint& checkpoint, const Node& node,
                             std::uint64_t global_batch);

}  // namespace infeed::detail
