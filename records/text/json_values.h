#pragma once

#include <cstddef>

#include "columns/column_plan.h"
#include "text/json_text.h"
#include "text/number_scan.h"

namespace infeed::detail {

/// True if a value may end in front of `c`.
constexpr bool ends_json_value(char c) {
  return c == ',' || c == '}' || c == ']' || c == ' ' || c == '\n' || c == '\r' || c == '\t';
}

/// Reads a number in the usual form into values[row] and returns its end. Null where it needs a
/// closer look, and where `scan` is null.
inline const char* scan_json_number(ScanNumber scan, const char* at, std::byte* values,
                                    std::size_t row) {
  const char* const end = scan == nullptr ? nullptr : scan(at, values, row);
  return end != nullptr && ends_json_value(*end) ? end : nullptr;
}

/// Reads the next value, which is not null, into row `row` of a column. Returns false, with the
/// cursor's problem set, when it is no value of the column.
bool read_json_column(JsonCursor& cursor, const PlannedColumn& column, GrowingColumn& out,
                      std::size_t row, const TensorPool& pool);

}  // namespace infeed::detail
