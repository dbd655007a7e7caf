#pragma once

#include <algorithm>
#include <cstdint>

#include <infeed/device/device_batch.h>
#include <infeed/share.h>
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

/// Returns the rows of a global batch that these replicas take of it.
inline RowShare rows_of_replicas(const ReplicaRange& range, std::int32_t replicas,
                                 std::int64_t batch) {
  RowShare share{.batch = batch};
  for (std::int32_t replica = 0; replica < range.end(); ++replica) {
    const std::int64_t rows = examples_of_replica(batch, replicas, replica);
    (replica < range.first ? share.first : share.rows) += rows;
  }
  return share;
}

/// Returns the rows of each global batch that a rank makes: those of its replicas. If there are too
/// few for each rank, each makes all of them.
inline RowShare rows_of_rank(const World& world, std::int32_t replicas, std::int64_t batch) {
  const ReplicaRange last =
      replicas_of_rank(replicas, {.rank = world.size - 1, .size = world.size});
  if (rows_of_replicas(last, replicas, batch).rows == 0) return {.batch = batch, .rows = batch};
  return rows_of_replicas(replicas_of_rank(replicas, world), replicas, batch);
}

}  // namespace infeed::detail
