#pragma once

#include <cstdint>
#include <type_traits>
#include <utility>
#include <vector>

#include <infeed/pipeline/batch.h>

namespace infeed {

struct RebatchOptions {
  /// Leaves out the last batch when it is shorter than its size.
  bool drop_remainder = false;
  StageName name = {};  ///< as in StageOptions
};

/// Why: cuts batches anew, into `sizes` in turn, without taking them apart.
///
///     dataset | infeed::batch(1024) | infeed::rebatch(infeed::per_replica_batch_sizes(1024, 8))
///
/// A batch that already is of the right size is handed through; otherwise rows are copied, column
/// by column. A size of 0 gives an empty batch in its turn. An error in the place of a batch comes
/// at once and loses no rows: the next rows go behind those that were there.
inline auto rebatch(std::vector<std::int64_t> sizes, RebatchOptions options = {});
inline auto rebatch(std::int64_t size, RebatchOptions options = {});

/// How a global batch is divided among replicas, as tf.distribute does: the first ones get one row
/// more when it doesn't come out even.
inline std::vector<std::int64_t> per_replica_batch_sizes(std::int64_t global_batch_size,
                                                         std::int64_t replicas);

// Only the library reads what follows.
namespace detail {

NodePointer make_rebatch(std::vector<std::int64_t> sizes, const RebatchOptions& options,
                         const BatchLayout& layout, const TypeInfo& type, NodePointer input);

struct RebatchStageFactory {
  using ComposesAsStage = void;
  std::vector<std::int64_t> sizes;
  RebatchOptions options;

  template <class T>
  Dataset<Batch<T>> operator()(const Dataset<Batch<T>>& input) const {
    static_assert(kIsCopyable<T>,
                  "infeed::rebatch: batches may be shared, so their rows are copied and must be "
                  "copyable");
    return Dataset<Batch<T>>(
        make_rebatch(sizes, options, batch_layout<T>(), type_info<Batch<T>>(), input.node()));
  }
  template <class Element>
  auto operator()(const Dataset<Element>&) const {
    static_assert(
        !std::is_same_v<Element, Element>,
        "infeed::rebatch: the dataset's Element must be an infeed::Batch: put infeed::batch "
        "before it");
    return refused();
  }
};

}  // namespace detail

inline auto rebatch(std::vector<std::int64_t> sizes, RebatchOptions options) {
  return named_stage(options.name, detail::RebatchStageFactory{std::move(sizes), options});
}

inline auto rebatch(std::int64_t size, RebatchOptions options) {
  return named_stage(options.name, detail::RebatchStageFactory{{size}, options});
}

inline std::vector<std::int64_t> per_replica_batch_sizes(std::int64_t global_batch_size,
                                                         std::int64_t replicas) {
  std::vector<std::int64_t> sizes;
  for (std::int64_t i = 0; i < replicas; ++i) {
    sizes.push_back(global_batch_size / replicas + (i < global_batch_size % replicas ? 1 : 0));
  }
  return sizes;
}

}  // namespace infeed
