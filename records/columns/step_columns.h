#pragma once

#include <cstddef>
#include <string_view>

#include "columns/column_plan.h"
#include "infeed/records/sequence_example.h"

/// Fills columns from the feature lists of SequenceExamples: an item a step.
namespace infeed::detail {

/// A row of a column while its steps are read.
struct RowOfSteps {
  const PlannedColumn& column;
  GrowingColumn& out;
  std::size_t row;
  const TensorPool& pool;
  std::size_t steps = 0;
};

/// Throws invalid_argument when no feature list can fill the column.
void check_steps(const ColumnType& type);
/// Plans how to decode a column that comes from a feature list. plan_column() must have planned it.
void plan_steps(PlannedColumn& column);

/// Decodes all lists of a plan into row `row`.
void parse_lists(const ColumnPlan& plan, std::string_view example, std::size_t row,
                 std::span<GrowingColumn> rows, const TensorPool& pool);
/// Reads a SequenceExample in the usual form (usual_form.h), context and lists. Returns false if it
/// isn't in that form; `rows` then holds a part of it.
bool parse_usual_sequence(const ColumnPlan& plan, std::string_view example, std::size_t row,
                          std::span<GrowingColumn> rows, const TensorPool& pool);

}  // namespace infeed::detail
