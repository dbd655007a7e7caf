#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "infeed/records/column_batch.h"
#include "infeed/records/column_schema.h"
#include "infeed/records/example_schema.h"
#include "infeed/records/record.h"

/// Why: parses tf.train.Examples and SequenceExamples into columns whose names and types come from a
/// file or a script, any number of them. Values are decoded where they will stay; nothing is
/// allocated for a record, and nothing is dispatched for a value.
///
///     const infeed::ColumnParser parser(
///         infeed::ColumnSchema().column("image", infeed::DType::uint8, {784}).bytes("text"));
///     infeed::ColumnRows rows = parser.begin(32);
///     parser.parse_row(record.bytes(), &record, 0, rows);        // and so on, up to row 31
///     infeed::ColumnBatch batch = parser.finish(std::move(rows), 1);
///
/// | column               | feature                                                             |
/// |----------------------|---------------------------------------------------------------------|
/// | dense, shape []      | one value: an integer in the range of the type, or a float          |
/// | dense                | as many values as the shape has items                               |
/// | dense uint8, shaped  | the same, or one value of bytes of that length                      |
/// | ragged, padded       | any number of values, which the shape divides; none if missing      |
/// | ragged, padded uint8 | the same, or one value of bytes; it must be there                   |
/// | ragged of two levels | the same, cut by the feature that the schema's partition names      |
/// | bytes                | one value of bytes                                                  |
/// | ragged_bytes         | any number of values of bytes; none if missing                      |
///
/// A column from a feature list (ColumnSchema::from_feature_list) makes the records SequenceExamples,
/// whose other columns come from the context. Its steps are the items:
///
/// | column               | each step holds                                                     |
/// |----------------------|---------------------------------------------------------------------|
/// | dense                | a row of the shape behind its first extent, which is their number   |
/// | ragged, padded       | an item of the shape; of shaped uint8 also one value of its bytes   |
/// | ragged of two levels | any number of items: an inner sequence                              |
/// | ragged_bytes         | one value of bytes, or with two levels any number                   |
///
/// A list must be there unless it has two levels or a default, which stands in for one without steps.
///
/// float64, float16 and bfloat16 are made of the feature's floats, the latter rounded to the nearest
/// (ties to even). What a column's ColumnType::missing says stands in for a feature that is missing
/// or empty. A row longer than a padded column's width is an Error.
///
/// Errors: of a schema that Examples can't fill, invalid_argument from the constructor. Of a record
/// as ExampleSchema's: what is wrong with which feature, with file, offset and record.
/// Thread-safety: immutable; any threads may parse at once, each into rows of its own, or see
/// ColumnRows. Copies share the memory that batches return.
namespace infeed {

class ColumnRows;

namespace detail {
struct ColumnPlan;
struct GrowingColumn;
class LateCopy;
}  // namespace detail

class ColumnParser {
 public:
  explicit ColumnParser(ColumnSchema schema);

  const ColumnSchema& schema() const;
  /// Whether each row has its place beforehand: all columns are dense, or padded to a fixed width.
  bool has_fixed_rows() const;
  /// What at least some of many records should have; see ExampleSchema::expected().
  ExpectedFeatures expected() const;

  /// Bytes of a row, as far as that is known beforehand: one of columns that grow counts its places.
  std::size_t row_bytes_min() const;
  /// The same parser with another pool for the memory of its batches.
  ColumnParser with_pool(TensorPool pool) const;
  /// Columns in the making, of up to rows_max rows; their memory comes from a pool. What grows is
  /// as large from the start as the batch before had become.
  ColumnRows begin(std::size_t rows_max) const;
  /// Decodes one record into row `row`. `place` says where the bytes came from, for errors; it may
  /// be null. An Error leaves the rows before `row` as they were: use the row again.
  /// `late` is the library's own.
  void parse_row(std::string_view example, const Record* place, std::size_t row, ColumnRows& rows,
                 detail::LateCopy* late = nullptr) const;
  /// The first `rows` rows as a batch.
  ColumnBatch finish(ColumnRows&& rows, std::size_t row_count) const;

 private:
  std::shared_ptr<const detail::ColumnPlan> plan_;
  TensorPool pool_;
};

/// Columns that a ColumnParser is filling.
///
/// Thread-safety: with has_fixed_rows() several threads may each parse another row at once.
/// Otherwise rows are appended: one thread at a time, row after row.
class ColumnRows {
 public:
  ColumnRows(ColumnRows&&) noexcept;
  ColumnRows& operator=(ColumnRows&&) noexcept;
  ~ColumnRows();

  std::size_t rows_max() const { return rows_max_; }
  /// Forgets the rows behind the first `rows`.
  void truncate(std::size_t rows);
  /// Of the first `rows` rows, moves those behind each of the rows at `gaps` (in order) up; only with
  /// has_fixed_rows().
  void close_gaps(std::size_t rows, std::span<const std::size_t> gaps);
  /// Bytes of memory that it holds.
  std::size_t memory_bytes() const;

 private:
  friend class ColumnParser;

  ColumnRows(std::shared_ptr<const detail::ColumnPlan> plan, TensorPool pool, std::size_t rows_max);
  /// Rows of the columns that grow, of which there is one.
  std::size_t appended() const;

  std::shared_ptr<const detail::ColumnPlan> plan_;
  TensorPool pool_;
  std::size_t rows_max_ = 0;
  std::vector<detail::GrowingColumn> columns_;
};

}  // namespace infeed
