#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>
#include <vector>

#include <infeed/pipeline/batch.h>
#include <infeed/pipeline/chunk.h>
#include <infeed/pipeline/detail/batch_filler.h>
#include <infeed/pipeline/detail/column_batch_element.h>
#include <infeed/pipeline/sequence_batch.h>
#include <infeed/records/detail/rows_to_join.h>

namespace infeed {

struct RebatchOptions {
  /// Leaves out the last batch if it is shorter than its size.
  bool drop_remainder = false;
  /// As in BatchOptions. A batch that is handed through stays where it is.
  BatchMemory memory = nullptr;
  StageName name = {};  ///< as in StageOptions
};

/// Cuts batches anew, into `sizes` in turn, without taking them apart.
///
///     dataset | infeed::batch(1024) | infeed::rebatch(infeed::per_replica_batch_sizes(1024, 8))
///
/// A batch of the right size is handed through; otherwise rows are copied, column by column. A
/// PaddedBatch becomes as wide as the widest batch that its rows come from. The columns of
/// ColumnBatches must match (join_rows(), records/column_batch.h). A size of 0 gives a batch without
/// rows in its turn, with the columns of the last rows before it, or of the first batch. An error in the
/// place of a batch comes at once and loses no rows: the next rows are added to those that wait.
inline auto rebatch(std::vector<std::int64_t> sizes, RebatchOptions options = {});
inline auto rebatch(std::int64_t size, RebatchOptions options = {});

/// Divides a global batch among replicas, as tf.distribute does: if it doesn't divide evenly, the
/// first replicas get one row more.
inline std::vector<std::int64_t> per_replica_batch_sizes(std::int64_t global_batch_size,
                                                         std::int64_t replicas);

// Only the library reads what follows.
namespace detail {

NodePointer make_rebatch(std::vector<std::int64_t> sizes, const RebatchOptions& options,
                         const BatchLayout& layout, const TypeInfo& type, NodePointer input);

/// Joins rows of a kind of batch that has no BatchLayout. `rows` is the result of begin().
struct RowJoin {
  void* (*begin)(const BatchMemory& memory, MemoryAccount& account);
  void (*drop)(void* rows) noexcept;
  std::size_t (*count)(const void* batch);
  /// Shows the next batch, before any other call but count(), if there are to be batches without rows.
  void (*see)(void* rows, const void* batch);
  /// Adds rows at the end. If it throws, the rows are as before.
  void (*append)(void* rows, const void* batch, std::size_t first, std::size_t count);
  std::uint64_t (*bytes)(const void* rows);
  /// Appends the batch of the rows to `out`; no rows are left.
  void (*finish)(void* rows, Chunk& out);
};
NodePointer make_rebatch(std::vector<std::int64_t> sizes, const RebatchOptions& options,
                         const RowJoin& join, const TypeInfo& type, NodePointer input);

/// Returns the RowJoin of Rows, a class like SequenceRowsToJoin.
template <class Rows>
constexpr RowJoin row_join() {
  using Batch = typename Rows::Batch;
  RowJoin join{};
  join.begin = [](const BatchMemory& memory, MemoryAccount& account) -> void* {
    return new Rows(memory, account);
  };
  join.drop = [](void* rows) noexcept { delete static_cast<Rows*>(rows); };
  join.count = [](const void* batch) {
    return static_cast<std::size_t>(Rows::count(*static_cast<const Batch*>(batch)));
  };
  join.see = [](void* rows, const void* batch) {
    if constexpr (requires { &Rows::see; }) {
      static_cast<Rows*>(rows)->see(*static_cast<const Batch*>(batch));
    }
  };
  join.append = [](void* rows, const void* batch, std::size_t first, std::size_t count) {
    static_cast<Rows*>(rows)->append(*static_cast<const Batch*>(batch), first, count);
  };
  join.bytes = [](const void* rows) { return static_cast<const Rows*>(rows)->bytes(); };
  join.finish = [](void* rows, Chunk& out) { out.append(static_cast<Rows*>(rows)->finish()); };
  return join;
}

/// Shows the batches that the rows come from, until the rows are joined.
struct ColumnRowsToJoin {
  using Batch = ColumnBatch;

  ColumnRowsToJoin(const BatchMemory& memory, MemoryAccount& account)
      : pool({.account = free_memory_of(account), .memory = memory}) {}
  static std::int64_t count(const ColumnBatch& batch) { return batch.rows(); }
  void see(const ColumnBatch& batch);
  void append(const ColumnBatch& batch, std::size_t first, std::size_t row_count);
  std::uint64_t bytes() const { return rows.held_bytes(); }
  ColumnBatch finish();

  TensorPool pool;
  RowsToJoin rows;
  ColumnBatch no_rows;  ///< the columns of the last batch
};

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
  template <class T, template <class> class Sequence>
  auto operator()(const Dataset<SequenceBatch<T, Sequence>>& input) const {
    static_assert(kIsCopyable<T>,
                  "infeed::rebatch: batches may be shared, so their rows are copied and must be "
                  "copyable");
    return joined<SequenceRowsToJoin<T, Sequence>>(input);
  }
  Dataset<ColumnBatch> operator()(const Dataset<ColumnBatch>& input) const {
    return joined<ColumnRowsToJoin>(input);
  }
  template <class Element>
  auto operator()(const Dataset<Element>&) const {
    static_assert(
        !std::is_same_v<Element, Element>,
        "infeed::rebatch: the dataset's Element must be an infeed::Batch, PaddedBatch, RaggedBatch "
        "or ColumnBatch: put infeed::batch before it");
    return refused();
  }

 private:
  template <class Rows>
  Dataset<typename Rows::Batch> joined(const Dataset<typename Rows::Batch>& input) const {
    using Out = typename Rows::Batch;
    return Dataset<Out>(
        make_rebatch(sizes, options, row_join<Rows>(), type_info<Out>(), input.node()));
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
