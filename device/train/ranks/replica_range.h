#pragma once

#include <algorithm>
#include <cstdint>

#include <infeed/world.h>

namespace infeed::detail {

/// Replicas that run in one process, next to each other.
struct ReplicaRange {
  std::int32_t first = 0;
  std::int32_t count = 0;

  std::int32_t end() const { return first + count; }
  bool contains(std::int32_t replica) const { return replica >= first && replica < end(); }
};

/// Returns the replicas of a rank. If they can't be shared evenly, the first ranks have one more.
inline ReplicaRange replicas_of_rank(std::int32_t replicas, const World& world) {
  const std::int32_t least = replicas / world.size;
  const std::int32_t more = replicas % world.size;
  return {.first = world.rank * least + std::min(world.rank, more),
          .count = least + (world.rank < more ? 1 : 0)};
}

}  // namespace infeed::detail
