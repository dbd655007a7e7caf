#pragma once

#include <span>

#include "infeed/records/column_batch.h"

namespace infeed::detail {

/// Copies the rows of batches with the same columns behind each other; at least one batch. Columns
/// are dense, of bytes, or of ragged_bytes with one level, as arrays give them. Error
/// (invalid_argument) where columns differ in name, kind or type.
ColumnBatch concatenate_columns(std::span<const ColumnBatch> batches);

}  // namespace infeed::detail
