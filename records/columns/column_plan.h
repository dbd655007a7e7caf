#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "columns/growing_buffer.h"
#include "infeed/detail/late_copy.h"
#include "infeed/records/column_batch.h"
#include "infeed/records/column_schema.h"
#include "infeed/records/example.h"
#include "infeed/records/sequence_example.h"

namespace infeed::detail {

/// Of a column in the making: in each row splits begin with 0, the outermost come first.
struct GrowingColumn {
  GrowingBuffer values;
  std::array<GrowingBuffer, 3> partitions;  ///< row splits, then offsets; or lengths
};

struct PlannedColumn;
struct ColumnPlan;

/// Decodes a feature into row `row` of a column. A column with a partition finds the view of that
/// feature behind the one that it is given.
using ParseFeature = void (*)(const PlannedColumn& column, const FeatureView* view,
                              GrowingColumn& out, std::size_t row, const TensorPool& pool);

/// A row that is read from the usual form.
struct UsualRow {
  std::size_t index;
  const TensorPool& pool;
  LateCopy* late;  ///< it may be null
};

/// The same from the only list of a feature in the usual form (usual_form.h). False where that isn't
/// what the column takes; what it has appended is to be truncated, and what it left to `late`
/// forgotten.
using ParseList = bool (*)(const PlannedColumn& column, FeatureKind kind, std::string_view list,
                           GrowingColumn& out, const UsualRow& row);

struct RowOfSteps;
/// Decodes the next step of a feature list (step_columns.h), and the same from its only list in the
/// usual form.
using ParseStep = void (*)(RowOfSteps& row, const FeatureView& step);
using ReadUsualStep = bool (*)(RowOfSteps& row, FeatureKind kind, std::string_view list);

/// What is known of a column before the first record.
struct PlannedColumn {
  ColumnType type;
  std::size_t first_view = 0;   ///< in the parser
  std::size_t item_values = 1;  ///< numbers in a dense row, or in one item of another
  std::size_t item_bytes = 0;   ///< bytes of them
  std::size_t row_bytes = 0;    ///< of values, where rows are fixed; else 0
  std::size_t partitions = 0;   ///< how many of GrowingColumn's it has while it grows
  bool has_fixed_rows = true;   ///< a row's place is known before
  bool must_be_there = true;    ///< and has no default
  alignas(8) std::array<std::byte, 8> padding{};  ///< one number of the type
  std::optional<Tensor> missing;                  ///< the default's numbers
  ParseFeature parse = nullptr;
  // Of a column that comes from a feature list:
  ParseStep parse_step = nullptr;           ///< in the place of `parse`
  ReadUsualStep read_usual_step = nullptr;  ///< null: only by `parse_step`
  std::size_t step_values = 1;              ///< numbers in each step, if as many are
  std::size_t steps_max = 0;                ///< of dense columns all rows have as many
  bool steps_are_scalars = true;
  /// Bytes that the column's parts had in the last batch: the values, then the partitions.
  mutable std::array<std::atomic<std::size_t>, 4> guesses{};

  bool is_of_bytes() const { return type.dtype == DType::bytes; }
  bool is_of_steps() const { return type.source == ColumnSource::feature_list; }
};

/// How to decode a column of this type; sets what `column` says of it.
void plan_column(PlannedColumn& column);
/// Null where a column of the type has no quicker way.
ParseList plan_usual_form(const ColumnType& type);
/// Row `row` becomes the default of the type.
void append_default(const PlannedColumn& column, GrowingColumn& out, std::size_t row,
                    const TensorPool& pool);
/// What a row takes whatever the record holds.
std::size_t column_row_bytes_min(const PlannedColumn& column);
/// Memory for so many rows, where there is none.
void begin_column(const PlannedColumn& column, std::size_t rows_max, GrowingColumn& out,
                  const TensorPool& pool);
void truncate_column(const PlannedColumn& column, std::size_t rows, GrowingColumn& out);
Column finish_column(const PlannedColumn& column, std::size_t rows, GrowingColumn& growing,
                     const TensorPool& pool);

/// Thread-safety: it does not change, but for the guesses, which any thread may set.
struct ColumnPlan {
  ColumnSchema schema;
  ExampleParser parser;                      ///< of an Example, or of the context
  SequenceExampleParser lists;               ///< without the context
  std::vector<std::size_t> feature_columns;  ///< those that are no list's, in order
  std::vector<std::size_t> list_columns;     ///< as in `lists`
  std::vector<std::unique_ptr<const PlannedColumn>> columns;
  std::vector<ParseList> parse_lists;  ///< of the columns; beside each other: for each list
  std::shared_ptr<const ColumnNames> names;
  bool has_fixed_rows = true;
  std::size_t first_growing = 0;  ///< a column that has not, when some haven't
};

}  // namespace infeed::detail
