#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "infeed/records/column_batch.h"

namespace infeed::detail {

/// Collects batches for join_rows(), each row where it lies. The rows of a shuffle are of a few whole
/// batches, in any order: what is looked up for a whole batch isn't looked up for each row.
///
/// Thread-safety: none.
class RowsToJoin {
 public:
  /// Throws invalid_argument, and takes nothing, unless the columns are like those before.
  void append(const ColumnBatch& batch);
  /// Copies all rows into one batch, in memory of the pool if there is one, and forgets them. A single
  /// batch is returned as it is.
  ColumnBatch join(const TensorPool* pool);
  bool empty() const { return parts_.empty(); }
  /// Bytes that the appended batches hold.
  std::uint64_t held_bytes() const { return held_bytes_; }

  /// Rows, or items, of a whole batch.
  struct Part {
    std::size_t whole;
    std::int64_t first;
    std::int64_t rows;
  };

 private:
  struct Whole {
    ColumnBatch part;  ///< keeps the columns
    std::span<const Column> columns;
    bool shares_names;  ///< with the first one
    /// Returns the column that has that name, the first batch's `index`th.
    const Column& column(std::size_t index, const std::string& name) const;
  };
  std::vector<Whole> wholes_;
  std::unordered_map<const Column*, std::size_t> places_;  ///< in wholes_, by their first column
  std::vector<Part> parts_;
  std::uint64_t held_bytes_ = 0;
};

}  // namespace infeed::detail
