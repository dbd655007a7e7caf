#pragma once

#include <cstdint>
#include <span>

#include "infeed/records/column.h"
#include "infeed/records/column_batch.h"

namespace infeed::detail {

/// The rows of a batch where they lie. A slice's columns are cut when somebody asks for them, which
/// costs 100 ns each; whoever only copies values reads them out of the whole batch's.
struct RowsOfBatch {
  std::span<const Column> columns;  ///< may have more rows
  std::int64_t first = 0;
  std::int64_t rows = 0;
};

/// Valid while the batch or a copy of it lives.
RowsOfBatch rows_of_batch(const ColumnBatch& batch);

}  // namespace infeed::detail
