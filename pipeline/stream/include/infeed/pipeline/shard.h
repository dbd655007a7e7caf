#pragma once

#include <infeed/count.h>
#include <infeed/pipeline/dataset.h>

namespace infeed {

struct ShardOptions {
  Count count;          ///< number of shards, at least 1
  Count index;          ///< number of this shard, less than count
  StageName name = {};  ///< as in StageOptions
};

namespace detail {

NodePointer make_shard(const ShardOptions& options, NodePointer input);
/// Gives the elements first, first + 1, ... (`rows` of them) of each `batch`: own_rows() of share.h.
NodePointer make_own_rows(Count batch, Count first, Count rows, NodePointer input);

}  // namespace detail

/// Gives the elements whose position modulo `count` is `index`, so that several workers share one
/// stream. Errors count as elements. Put it close to the source: making elements that it drops is
/// wasted work. An error that may pass (unavailable, deadline_exceeded) at another shard's place is
/// terminal: the other host may have had none, and behind it the shards would overlap.
///
/// A map with an Rng after it draws by the position in the shared stream. So shard | map gives each
/// element the same numbers with any number of shards, also when a checkpoint is resharded; so does
/// shard | map | repeat. After a stage that changes the number of elements (shard | filter | map,
/// shard | batch | map) the numbers of an element depend on the number of hosts, but no two hosts
/// draw the same ones. That also holds for shard | repeat | map, unless the shards are equally
/// long.
///
///     files | infeed::shard({.count = hosts, .index = host})
inline auto shard(ShardOptions options) {
  return named_stage(options.name, untyped_stage(detail::make_shard, options));
}

}  // namespace infeed
