#pragma once

#include <cstddef>
#include <span>

#include "columns/column_plan.h"

namespace infeed::detail {

/// Why: a batch of 40 numbers a row went to the pool 80 times and to malloc 40 times. Instead, its
/// columns of a few bytes a row lie in one block of the pool, with their reference counts. Keeping
/// one of these columns keeps the block, so only small columns are put there.
///
/// Gives the small columns among `out` memory for `rows_max` rows. Does nothing if there are fewer
/// than two.
void begin_small_columns(const ColumnPlan& plan, std::size_t rows_max, std::span<GrowingColumn> out,
                         const TensorPool& pool);

}  // namespace infeed::detail
