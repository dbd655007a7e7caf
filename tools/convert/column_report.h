#pragma once

#include <nlohmann/json_fwd.hpp>

#include <infeed/convert/example_input.h>

#include "cli/terminal.h"
#include "convert/column_statistics.h"

/// Why: the report shows a wrong kind, a column without values or rounded numbers during the
/// conversion, instead of weeks later in a model that doesn't learn.
namespace infeed::tools {

/// Prints a line a column: "  price   floats    3 empty, 2 rounded (first '16777217' in t.csv line
/// 5 (row 4))". `statistics`: of the examples that were written, or of a sample.
void print_columns(Terminal& terminal, const ExampleInput& input,
                   const ColumnStatistics& statistics);

/// Returns the same as "columns" of a set (tools/README.md).
nlohmann::json describe_columns(const ExampleInput& input, const ColumnStatistics& statistics);

}  // namespace infeed::tools
