#pragma once

#include <cstddef>
#include <span>

#include "columns/column_plan.h"

namespace infeed::detail {

/// Why: a batch of 40 numbers a row went to the pool 80 times and to malloc 40 times. Its columns of
/// a few bytes a row lie in one block of the pool instead, with the counts of who shares them. Who
/// keeps one of these columns keeps the block, so they are small.
///
/// Gives the small columns among `out` memory for so many rows; nothing where there are less than two.
void begin_small_columns(const ColumnPlan& plan, std::size_t rows_max, std::span<GrowingColumn> out,
                         const TensorPool& pool);

}  // namespace infeed::detail
