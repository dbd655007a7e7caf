#pragma once

#include <cstdint>

#include <infeed/pipeline/checkpoint.h>
#include <infeed/pipeline/dataset.h>

namespace infeed {

struct ReshardOptions {
  /// The count of shard() then and now.
  std::uint64_t shards_before;
  std::uint64_t shards_now;
  /// Elements of the shared stream that one position of a host stands for: the rows of its batches,
  /// or 1.
  std::uint64_t rows_before = 1;
  std::uint64_t rows_now = 1;
};

/// Why: a job that ran on 4 hosts goes on with 8, or with another batch size, from the same place:
/// no element twice, none left out. Every host reads its share of one stream,
///
///     const auto share = [](std::uint64_t hosts, std::uint64_t host) {
///       return infeed::range(1'000'000) | infeed::global_shuffle({.seed = 1})
///           | infeed::shard({.count = hosts, .index = host}) | infeed::map(read_sample)
///           | infeed::batch(32);
///     };
///     // host 0 of 4 saved `checkpoint` after a step; now it is host 5 of 8:
///     const auto dataset = share(8, 5);
///     auto iterator = dataset.iterate({.resume = infeed::reshard_checkpoint(
///         checkpoint, dataset,
///         {.shards_before = 4, .shards_now = 8, .rows_before = 32, .rows_now = 32})});
///
/// and after the same number of steps on each host, they have together taken the first position *
/// rows * shards elements of the stream. The checkpoint of any host will do.
///
/// Throws Error(failed_precondition)
/// - if the new hosts can't start at that place: the number of elements isn't divisible by
///   shards_now * rows_now. Take the checkpoint at a step where it is.
/// - if an error was seen: hosts may then stand at different places.
/// - if a stage that gives an unknown number of elements (filter, flat_map) is in the pipeline.
/// - if the pipeline differs from the old one in more than the numbers of shard and batch.
///
/// The order hash starts anew.
template <class T>
Checkpoint reshard_checkpoint(const Checkpoint& checkpoint, const Dataset<T>& dataset,
                              const ReshardOptions& options);

// Only the library reads what follows.
namespace detail {

Checkpoint make_resharded(const Checkpoint& checkpoint, const Node& node,
                          const ReshardOptions& options);

}  // namespace detail

template <class T>
Checkpoint reshard_checkpoint(const Checkpoint& checkpoint, const Dataset<T>& dataset,
                              const ReshardOptions& options) {
  return detail::make_resharded(checkpoint, *dataset.node(), options);
}

}  // namespace infeed
