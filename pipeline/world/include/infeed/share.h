#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <infeed/pipeline/concatenate.h>
#include <infeed/pipeline/dataset.h>
#include <infeed/pipeline/map.h>
#include <infeed/pipeline/range.h>
#include <infeed/pipeline/rebatch.h>
#include <infeed/pipeline/repeat.h>
#include <infeed/pipeline/reshard_checkpoint.h>
#include <infeed/pipeline/shard.h>
#include <infeed/pipeline/take.h>
#include <infeed/world.h>

/// Why: N hosts together take the same global batches as one host would, whatever N is, and make
/// equally many steps. Nothing is exchanged for it: all describe the same stream, and each takes its
/// rows of it.
///
///     const std::int64_t global_batch = 1024;
///     auto mine = infeed::indexed_records("train-*.tfrecord") | infeed::global_shuffle({.seed = 1})
///               | infeed::whole_batches(global_batch, infeed::LastBatch::wrap) | infeed::repeat(10)
///               | infeed::share_of(world)
///               | infeed::parse_columns(column_schema, infeed::host_rows_max(world, global_batch))
///               | infeed::host_batches(world, global_batch) | infeed::prefetch();
///
/// Step k takes the elements from k * global_batch on of the stream before share_of(). Row i of them
/// belongs to rank i % N, counted over all steps; so it is row i / N of that rank's stream. If N
/// divides the global batch, that is the same row of every batch, and host_batches() hands batches
/// through. Else batches of a host have one row more or less from step to step.
///
/// A stage between share_of() and host_batches() must give one row for each element: a row that is
/// left out (skip_errors, filter, a bad record) would move all later ones into other batches.
/// keep_rows.h keeps the rows of bad records.
///
/// To go on with another number of hosts: reshard_step().
namespace infeed {

/// Gives this rank's elements: infeed::shard() for a World.
inline auto share_of(const World& world) {
  check_world(world);
  return shard({.count = world.size, .index = world.rank});
}

/// Returns the rows of this rank in one global batch after the other, which repeat. Throws
/// Error(invalid_argument) if a batch has fewer rows than there are ranks.
std::vector<std::int64_t> host_batch_sizes(const World& world, std::int64_t global_batch);

/// Returns the most rows that this rank has in a global batch.
std::int64_t host_rows_max(const World& world, std::int64_t global_batch);

/// Cuts this rank's batches so that each is its part of a global batch. It stands behind a stage
/// that makes batches, of host_rows_max() rows at best.
inline auto host_batches(const World& world, std::int64_t global_batch) {
  return rebatch(host_batch_sizes(world, global_batch));
}

/// The treatment of the rows at the end of an epoch that fill no global batch.
enum class LastBatch : std::uint8_t {
  drop,  ///< they are left out
  wrap,  ///< the batch is filled with the next pass's first elements
};

/// A part of each global batch: rows [first, first + rows) of `batch`.
struct RowShare {
  std::int64_t batch = 0;
  std::int64_t first = 0;
  std::int64_t rows = 0;

  bool is_whole() const { return rows == batch; }
  friend bool operator==(const RowShare&, const RowShare&) = default;
};

/// Gives the elements that are these rows of the global batches, in the place of share_of(): for
/// replicas that each take rows next to each other, as fit() divides a batch (fit.h). Elements from
/// k * batch on are global batch k, so the stream must be endless or whole_batches(). What stands
/// before it is done by each rank for all rows, as far as it can't be skipped; what stands behind
/// it, for the rank's own:
///
///     records | infeed::global_shuffle({.seed = 1}) | infeed::repeat() | infeed::own_rows(own)
///             | infeed::parse_columns(column_schema, own.rows, {.drop_remainder = true})
///
/// A map with an Rng behind it draws for each element as with one process.
inline auto own_rows(const RowShare& own);

/// Returns the checkpoint of the pipeline that makes all rows, for one of a pipeline with
/// own_rows(). They have the same text at any number of ranks, but for bookmarks.
Checkpoint with_all_rows(Checkpoint checkpoint);
/// Returns the checkpoint from which `dataset` goes on, for one of a pipeline with all rows. If
/// there is no own_rows() in it, that is the checkpoint itself.
template <class T>
Checkpoint with_own_rows(Checkpoint checkpoint, const Dataset<T>& dataset);

/// Makes the stream's length a multiple of the global batch, so that all hosts have equally many
/// steps. It stands before share_of(), and before a repeat whose passes shall be whole.
///
/// Throws Error(failed_precondition) if the length isn't known before the stream is read, as behind a
/// filter: EqualSteps (equal_steps.h) is for these. An infinite stream stays as it is.
inline auto whole_batches(std::int64_t global_batch, LastBatch last);
/// Does the same by `padding`, an element that stands for no row: one whose `valid` is false. For
/// records parsed by keep_rows() it is the record padding_record() of keep_rows.h.
template <class T>
auto whole_batches(std::int64_t global_batch, T padding);

/// Returns the checkpoint from which a host goes on with another number of hosts: the same global
/// batches follow. `checkpoint`: from any rank, after `position` steps of the same global batch in
/// this run; `dataset`: this rank's new one, whose elements are its batches. It is
/// reshard_checkpoint(), whose rules hold, where the ranks' batches differ in size.
template <class T>
Checkpoint reshard_step(const Checkpoint& checkpoint, const Dataset<T>& dataset,
                        std::int64_t global_batch);

// Only the library reads what follows.
namespace detail {

/// Returns by how many elements a stream of that length must grow, or shrink (drop).
std::int64_t rows_to_whole(const Cardinality& length, std::int64_t global_batch,
                           const std::string& described);
Checkpoint make_resharded_step(const Checkpoint& checkpoint, const Node& node,
                               std::int64_t global_batch);

Checkpoint make_with_own_rows(Checkpoint checkpoint, const Node& node);

struct OwnRows {
  using ComposesAsStage = void;
  RowShare own;

  template <class T>
  Dataset<T> operator()(const Dataset<T>& stream) const {
    if (own.is_whole() && own.first == 0) return stream;
    return Dataset<T>(make_own_rows(own.batch, own.first, own.rows, stream.node()));
  }
};

struct WholeBatches {
  using ComposesAsStage = void;
  std::int64_t global_batch;
  LastBatch last;

  template <class T>
  Dataset<T> operator()(const Dataset<T>& stream) const {
    const Cardinality length = stream.cardinality();
    const std::int64_t missing = rows_to_whole(length, global_batch, stream.node()->described());
    if (missing == 0) return stream;
    const auto count = static_cast<std::int64_t>(length.count());
    if (last == LastBatch::drop) return stream | take(count + missing - global_batch);
    return stream | repeat() | take(count + missing);
  }
};

template <class Padding>
struct PaddedToWhole {
  using ComposesAsStage = void;
  std::int64_t global_batch;
  Padding padding;

  Dataset<Padding> operator()(const Dataset<Padding>& stream) const {
    const std::int64_t missing =
        rows_to_whole(stream.cardinality(), global_batch, stream.node()->described());
    if (missing == 0) return stream;
    return stream |
           concatenate(range(missing) | map([row = padding](std::int64_t) { return row; }));
  }
};

}  // namespace detail

inline auto own_rows(const RowShare& own) { return detail::OwnRows{own}; }

template <class T>
Checkpoint with_own_rows(Checkpoint checkpoint, const Dataset<T>& dataset) {
  return detail::make_with_own_rows(std::move(checkpoint), *dataset.node());
}

inline auto whole_batches(std::int64_t global_batch, LastBatch last) {
  return detail::WholeBatches{global_batch, last};
}

template <class T>
auto whole_batches(std::int64_t global_batch, T padding) {
  return detail::PaddedToWhole<T>{global_batch, std::move(padding)};
}

template <class T>
Checkpoint reshard_step(const Checkpoint& checkpoint, const Dataset<T>& dataset,
                        std::int64_t global_batch) {
  return detail::make_resharded_step(checkpoint, *dataset.node(), global_batch);
}

}  // namespace infeed
