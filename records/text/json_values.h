#pragma once

#include <cstddef>

#include "columns/column_plan.h"
#include "text/json_text.h"

namespace infeed::detail {

/// The usual number, into row `row` of a column of such numbers: returns its end. Null where it is to
/// be looked at more closely.
const char* scan_json_number(const char* at, DType dtype, std::byte* values, std::size_t row);

/// Reads the value that comes next, which is not null, into row `row` of a column. False, with the
/// cursor's problem set, when it is no value of the column.
bool read_json_column(JsonCursor& cursor, const PlannedColumn& column, GrowingColumn& out,
                      std::size_t row, const TensorPool& pool);

}  // namespace infeed::detail
