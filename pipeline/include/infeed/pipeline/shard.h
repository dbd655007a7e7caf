#pragma once

#include <cstdint>

#include <infeed/pipeline/dataset.h>

namespace infeed {

struct ShardOptions {
  std::uint64_t count;  ///< of shards, at least 1
  std::uint64_t index;  ///< of this one, less than count
};

namespace detail {

NodePointer make_shard(const ShardOptions& options, NodePointer input);

struct ShardStageFactory {
  ShardOptions options;

  template <class T>
  Dataset<T> operator()(const Dataset<T>& input) const {
    return Dataset<T>(make_shard(options, input.node()));
  }
};

}  // namespace detail

/// Why: the elements whose position modulo `count` is `index`, so that several workers share one
/// stream. Errors count as elements. Put it close to the source: what is dropped was made for
/// nothing.
///
///     files | infeed::shard({.count = hosts, .index = host})
inline auto shard(ShardOptions options) { return detail::ShardStageFactory{options}; }

}  // namespace infeed
