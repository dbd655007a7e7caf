#pragma once

#include <infeed/count.h>
#include <infeed/pipeline/dataset.h>

namespace infeed {

struct ShardOptions {
  Count count;          ///< of shards, at least 1
  Count index;          ///< of this one, less than count
  StageName name = {};  ///< as in StageOptions
};

namespace detail {

NodePointer make_shard(const ShardOptions& options, NodePointer input);

}  // namespace detail

/// Why: this gives the elements whose position modulo `count` is `index`, so that several workers
/// share one stream. Errors count as elements. Put it close to the source: what is dropped was made
/// for nothing.
///
/// A map with an Rng behind it draws by the position in the stream that is shared, so shard | map
/// gives each element the numbers that it has with any other number of shards, shard | map | repeat
/// too, also when a checkpoint is resharded. Behind a stage that changes how many elements there
/// are (shard | filter | map, shard | batch | map) no two hosts draw the same numbers, but which
/// element gets which depends on their number; so it does in shard | repeat | map, unless the
/// shards are equally long.
///
///     files | infeed::shard({.count = hosts, .index = host})
inline auto shard(ShardOptions options) {
  return named_stage(options.name, untyped_stage(detail::make_shard, options));
}

}  // namespace infeed
