#pragma once

#include <nlohmann/json_fwd.hpp>

#include <infeed/convert/example_input.h>

#include "cli/terminal.h"
#include "convert/column_statistics.h"

/// Why: a wrong kind, a column without values or rounded numbers are seen when the data is
/// converted, or weeks later in a model that doesn't learn.
namespace infeed::tools {

/// A line a column: "  price   floats    3 empty, 2 rounded (first '16777217' in t.csv line 5 (row
/// 4))". `statistics`: of the examples that were written, or of those looked at.
void print_columns(Terminal& terminal, const ExampleInput& input,
                   const ColumnStatistics& statistics);

/// The same as "columns" of a set (tools/README.md).
nlohmann::json describe_columns(const ExampleInput& input, const ColumnStatistics& statistics);

}  // namespace infeed::tools
