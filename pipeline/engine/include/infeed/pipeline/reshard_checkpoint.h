#pragma once

#include <infeed/pipeline/checkpoint.h>
#include <infeed/pipeline/dataset.h>

/// Why: a job that ran on 4 hosts goes on with 3, or with another batch size, from the same place:
/// no element twice, none left out. Every host reads its share of one stream,
///
///     const auto share = [](std::uint64_t hosts, std::uint64_t host) {
///       return infeed::range(1'000'000) | infeed::global_shuffle({.seed = 1})
///           | infeed::shard({.count = hosts, .index = host}) | infeed::map(read_sample)
///           | infeed::batch(32);
///     };
///     // host 0 of 4 saved `checkpoint` after a step; now it is host 2 of 3:
///     const auto dataset = share(3, 2);
///     auto iterator = dataset.iterate({.resume = infeed::reshard_checkpoint(checkpoint, dataset)});
///
/// and after the same number of steps on each host they have together taken the first elements of
/// the stream before shard. The new hosts share what follows. The checkpoint of any of the old hosts
/// will do, if all had taken as many steps. The text of the new one says how many elements were
/// taken, and by how many shards; its position, order hash and batches count from there.
///
/// Any stage may stand before shard: filters, shuffles, repeat, skip_errors. Behind it only those
/// whose elements tell by their number alone which of the shared ones they are made of: map, parse,
/// parse_batch, batch, padded_batch, ragged_batch, prefetch, and one repeat if its passes end at the
/// same step on all hosts. An error is an element. Behind batch and repeat it is a step beside those
/// with elements, so a checkpoint of a host that took one is refused there. A host doesn't see the
/// others' errors: compare Checkpoint::errors_taken of all, or put what fails before shard, with
/// skip_errors behind it.
///
/// Throws Error(failed_precondition)
/// - that names a stage behind shard for which that isn't so: shuffle, filter, skip_errors,
///   enumerate, cache, pack, and stages of your own that don't override Node::input_taken();
/// - if errors were taken as steps, as above;
/// - if there is no shard, or the pipeline differs from the old one in more than shards and the rows
///   of batches behind them.
namespace infeed {

template <class T>
Checkpoint reshard_checkpoint(const Checkpoint& checkpoint, const Dataset<T>& dataset);

// Only the library reads what follows.
namespace detail {

Checkpoint make_resharded(const Checkpoint& checkpoint, const Node& node);

}  // namespace detail

template <class T>
Checkpoint reshard_checkpoint(const Checkpoint& checkpoint, const Dataset<T>& dataset) {
  return detail::make_resharded(checkpoint, *dataset.node());
}

}  // namespace infeed
