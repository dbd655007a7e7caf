#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "columns/growing_buffer.h"
#include "infeed/detail/late_copy.h"
#include "infeed/records/column_batch.h"
#include "infeed/records/column_schema.h"
#include "infeed/records/detail/longest_row.h"
#include "infeed/records/example.h"
#include "infeed/records/sequence_example.h"

namespace infeed::detail {

/// A column in the making. Splits begin with 0, and the outermost come first.
struct GrowingColumn {
  GrowingBuffer values;
  std::array<GrowingBuffer, 3> partitions;  ///< row splits, then offsets; or lengths
  mutable LongestRow longest = {};          ///< row, as far as padded_bytes() has looked
};

/// Ends a row, or an inner sequence, of `items` items.
inline void end_row(GrowingBuffer& splits, std::size_t items, const TensorPool& pool) {
  const std::int64_t begin = splits.values<std::int64_t>().back();
  splits.push_back(begin + static_cast<std::int64_t>(items), pool);
}

/// Appends bytes, and their end to the partition of the offsets.
inline void append_text(std::string_view text, GrowingColumn& out, std::size_t offsets,
                        const TensorPool& pool) {
  std::byte* const to = out.values.extend(text.size(), pool);
  if (!text.empty()) std::memcpy(to, text.data(), text.size());
  out.partitions[offsets].push_back(static_cast<std::int64_t>(out.values.size_bytes()), pool);
}

struct PlannedColumn;
struct ColumnPlan;

/// Decodes a feature into row `row` of a column. A column with a partition finds that feature's
/// view behind the given one.
using ParseFeature = void (*)(const PlannedColumn& column, const FeatureView* view,
                              GrowingColumn& out, std::size_t row, const TensorPool& pool);

/// The row that a list in the usual form is read into.
struct UsualRow {
  std::size_t index;
  const TensorPool& pool;
  LateCopy* late;  ///< may be null
};

/// Decodes the only list of a feature in the usual form (usual_form.h). Returns false where the
/// column takes no such list; then appended values must be truncated, and the copy left to `late`
/// forgotten.
using ParseList = bool (*)(const PlannedColumn& column, FeatureKind kind, std::string_view list,
                           GrowingColumn& out, const UsualRow& row);

struct RowOfSteps;
/// Decodes the next step of a feature list (step_columns.h), or the step's only list in the usual
/// form.
using ParseStep = void (*)(RowOfSteps& row, const FeatureView& step);
using ReadUsualStep = bool (*)(RowOfSteps& row, FeatureKind kind, std::string_view list);

/// The parts of a column that are known before the first record.
struct PlannedColumn {
  ColumnType type;
  std::size_t own_view = 0;     ///< view in the parser
  std::ptrdiff_t cut_by = 0;    ///< place of its partition's view, seen from there
  std::size_t item_values = 1;  ///< numbers in a dense row, or in an item of another kind
  std::size_t item_bytes = 0;   ///< bytes of those numbers
  std::size_t row_bytes = 0;    ///< bytes of a row's values where rows are fixed; else 0
  std::size_t partitions = 0;   ///< number of GrowingColumn's partitions while it grows
  bool has_fixed_rows = true;   ///< a row's place is known beforehand
  bool must_be_there = true;    ///< a missing feature is an error
  alignas(8) std::array<std::byte, 8> padding{};  ///< one number of the type
  std::optional<Tensor> missing;                  ///< numbers of the default
  ParseFeature parse = nullptr;
  // For a column that comes from a feature list:
  ParseStep parse_step = nullptr;           ///< in place of `parse`
  ReadUsualStep read_usual_step = nullptr;  ///< null: `parse_step` does it all
  std::size_t step_values = 1;              ///< numbers in each step, if all have the same number
  std::size_t steps_max = 0;                ///< most steps of a row; exactly so many if dense
  bool steps_are_scalars = true;
  /// Bytes of the column's parts in the last batch: the values, then the partitions.
  mutable std::array<std::atomic<std::size_t>, 4> guesses{};

  bool is_of_bytes() const { return type.dtype == DType::bytes; }
  bool is_of_steps() const { return type.source == ColumnSource::feature_list; }
};

/// Plans how to decode a column of the type.
std::unique_ptr<PlannedColumn> plan_column(ColumnType type);
/// Returns null where a column of the type has no quicker way.
ParseList plan_usual_form(const ColumnType& type);
/// Sets row `row` to the default of the type.
void append_default(const PlannedColumn& column, GrowingColumn& out, std::size_t row,
                    const TensorPool& pool);
/// Returns the bytes that a row takes whatever the record holds.
std::size_t column_row_bytes_min(const PlannedColumn& column);
/// Reserves memory for `rows_max` rows where there is none.
void begin_column(const PlannedColumn& column, std::size_t rows_max, GrowingColumn& out,
                  const TensorPool& pool);
void truncate_column(const PlannedColumn& column, std::size_t rows, GrowingColumn& out);
/// Returns the bytes that finish_column() takes beside the column to pad its rows; 0 if it doesn't.
std::size_t padded_bytes(const PlannedColumn& column, const GrowingColumn& growing);
Column finish_column(const PlannedColumn& column, std::size_t rows, GrowingColumn& growing,
                     const TensorPool& pool);

/// The plan of a schema. Thread-safety: it does not change, except the guesses, which any thread
/// may set.
struct ColumnPlan {
  ColumnSchema schema;
  ExampleParser parser;                      ///< for an Example, or for the context
  bool has_partitions = false;               ///< the parser finds other features than the columns'
  SequenceExampleParser lists;               ///< without the context
  std::vector<std::size_t> feature_columns;  ///< columns that come from features, in order
  std::vector<std::size_t> list_columns;     ///< columns that come from lists, as in `lists`
  std::vector<std::unique_ptr<const PlannedColumn>> columns;
  std::vector<ParseList> parse_lists;  ///< by column; contiguous, as every list needs one
  std::shared_ptr<const ColumnNames> names;
  bool has_fixed_rows = true;
  std::size_t first_growing = 0;  ///< first column that grows, if any
};

void add_column(ColumnPlan& plan, std::unique_ptr<const PlannedColumn> column);
std::shared_ptr<const ColumnNames> column_names(const ColumnSchema& schema);

}  // namespace infeed::detail
