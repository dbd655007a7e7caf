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
#include <infeed/records/tensor_pool.h>

namespace infeed::detail {

/// Counts what lies free in the pools of a run; a pool that is given this goes before the account.
std::shared_ptr<FreeMemoryAccount> free_memory_of(MemoryAccount& memory);

/// A batch of which rows are written in place.
class BatchFiller {
 public:
  /// `layout` lives for ever (batch_layout<T>()).
  BatchFiller(const BatchLayout& layout, std::size_t rows_max);

  /// The same with a pool of its own, which is empty when the last copy is gone.
  BatchFiller for_run(MemoryAccount& memory) const;
  /// A fresh batch of `rows` rows, whose columns are yet to be constructed.
  BatchReference take(std::size_t rows) const;
  /// Keeps the first `rows` without those at `gaps`, which are in order; destroys the others.
  static void close_gaps(const BatchReference& batch, std::size_t rows,
                         std::span<const std::size_t> gaps);
  std::uint64_t batch_bytes() const;

 private:
  std::shared_ptr<BatchPool> pool_;
  std::shared_ptr<void> closes_pool_;  ///< with the last copy; null where nobody asked for it
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
