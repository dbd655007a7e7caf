#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <type_traits>
#include <utility>

#include <infeed/pipeline/detail/batch_layout.h>
#include <infeed/pipeline/leaves.h>
#include <infeed/pipeline/memory_account.h>
#include <infeed/records/batch_memory.h>
#include <infeed/records/tensor_pool.h>

namespace infeed::detail {

/// Returns an account for the free blocks of a run's pools. A pool that has it must be destroyed
/// before the memory account.
std::shared_ptr<FreeMemoryAccount> free_memory_of(MemoryAccount& memory);

/// Makes batches whose rows are written in place.
class BatchFiller {
 public:
  /// `layout` lives for ever (batch_layout<T>()).
  BatchFiller(const BatchLayout& layout, std::size_t rows_max, BatchMemory memory = nullptr);

  /// Returns a filler with a pool of its own, which is emptied when the last copy is gone.
  BatchFiller for_run(MemoryAccount& memory) const;
  /// Returns a fresh batch of `rows` rows. The caller constructs the columns.
  BatchReference take(std::size_t rows) const;
  /// Keeps the first `rows` rows except those at `gaps`, which ascend. Destroys the others.
  static void close_gaps(const BatchReference& batch, std::size_t rows,
                         std::span<const std::size_t> gaps);
  std::uint64_t batch_bytes() const;

 private:
  std::shared_ptr<BatchPool> pool_;
  std::shared_ptr<void> closes_pool_;  ///< with the last copy; null for a shared pool
};

template <class Column>
void construct_column(void* at, std::size_t rows) {
  if constexpr (!std::is_trivially_default_constructible_v<Column>) {
    std::uninitialized_value_construct_n(static_cast<Column*>(at), rows);
  }
}

template <class T>
void construct_columns(const BatchReference& batch, std::size_t rows) {
  [&]<std::size_t... I>(std::index_sequence<I...>) {
    (construct_column<std::tuple_element_t<I, LeafTypes<T>>>(batch.column(I), rows), ...);
  }
  (std::make_index_sequence<leaf_count<T>()>());
}

}  // namespace infeed::detail
