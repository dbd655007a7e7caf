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

/// Why: parses tf.train.Examples and SequenceExamples into any number of columns whose names and
/// types come from a file or a script. Values are decoded where they will stay. No record allocates
/// memory, and no value costs a dispatch on its type.
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
/// A column from a feature list (ColumnSchema::from_feature_list) makes the records
/// SequenceExamples; their other columns come from the context. The list's steps are the items:
///
/// | column               | each step holds                                                     |
/// |----------------------|---------------------------------------------------------------------|
/// | dense                | a row of the shape behind its first extent, which is their number   |
/// | ragged, padded       | an item of the shape; of shaped uint8 also one value of its bytes   |
/// | ragged of two levels | any number of items: an inner sequence                              |
/// | ragged_bytes         | one value of bytes, or with two levels any number                   |
///
/// A list must be there unless its column has two levels or a default, which also stands in for a
/// list without steps.
///
/// float64, float16 and bfloat16 are made from the feature's floats, the latter two rounded to the
/// nearest (ties to even). A column's ColumnType::missing stands in for a feature that is missing
/// or empty. A row longer than a padded column's width is an Error.
///
/// Errors: invalid_argument from the constructor for a schema that Examples can't fill. A record's
/// errors are as in ExampleSchema: they name feature, file, offset and record. Thread-safety:
/// immutable; any threads may parse at once, each into rows of its own, or see ColumnRows. Copies
/// share the memory that batches give back.
namespace infeed {

class ColumnRows;
class JsonParser;
class MessageParser;

namespace detail {
struct ColumnPlan;
struct GrowingColumn;
class LateCopy;
}  // namespace detail

class ColumnParser {
 public:
  explicit ColumnParser(ColumnSchema schema);

  const ColumnSchema& schema() const;
  /// True if each row's place is known beforehand: all columns are dense, or padded to a fixed
  /// width.
  bool has_fixed_rows() const;
  /// Features that at least some of many records should have; see ExampleSchema::expected().
  ExpectedFeatures expected() const;

  /// Bytes of a row, as far as they are known beforehand. For columns that grow only the splits
  /// count.
  std::size_t row_bytes_min() const;
  /// Returns the same parser with another pool for the memory of its batches.
  ColumnParser with_pool(TensorPool pool) const;
  /// Begins columns of up to rows_max rows, with memory from a pool. Growing columns begin as large
  /// as in the batch before.
  ColumnRows begin(std::size_t rows_max) const;
  /// Decodes one record into row `row`. `place` is the record that the bytes came from, for errors;
  /// it may be null. An Error leaves the rows before `row` as they were: use the row again. `late`
  /// is for the library only.
  void parse_row(std::string_view example, const Record* place, std::size_t row, ColumnRows& rows,
                 detail::LateCopy* late = nullptr) const;
  /// Makes a batch of the first `row_count` rows.
  ColumnBatch finish(ColumnRows&& rows, std::size_t row_count) const;

 private:
  friend class JsonParser;
  friend class MessageParser;
  /// For a parser of another format, which has a plan of its own.
  explicit ColumnParser(std::shared_ptr<const detail::ColumnPlan> plan);

  std::shared_ptr<const detail::ColumnPlan> plan_;
  TensorPool pool_;
};

/// Columns that a ColumnParser or a MessageParser fills.
///
/// Thread-safety: with has_fixed_rows() several threads may parse at once, each another row.
/// Otherwise rows are appended: one thread at a time, row after row.
class ColumnRows {
 public:
  ColumnRows(ColumnRows&&) noexcept;
  ColumnRows& operator=(ColumnRows&&) noexcept;
  ~ColumnRows();

  std::size_t rows_max() const { return rows_max_; }
  /// Forgets the rows behind the first `rows`.
  void truncate(std::size_t rows);
  /// Removes the rows at `gaps` (in order) from the first `rows` rows and moves the others up. Only
  /// with has_fixed_rows().
  void close_gaps(std::size_t rows, std::span<const std::size_t> gaps);
  /// Bytes of memory that the rows hold, and of what finish() makes beside to pad them.
  std::size_t memory_bytes() const;
  /// Bytes of it that no row uses yet: columns that grow begin as large as in the batch before.
  std::size_t spare_bytes() const;

 private:
  friend class ColumnParser;
  friend class JsonParser;
  friend class MessageParser;

  ColumnRows(std::shared_ptr<const detail::ColumnPlan> plan, TensorPool pool, std::size_t rows_max);
  /// Number of rows appended so far. Only where some column grows.
  std::size_t appended() const;
  /// Throws unless `row` can be written next, by a parser with that plan.
  void check_row(const detail::ColumnPlan* plan, std::size_t row) const;

  std::shared_ptr<const detail::ColumnPlan> plan_;
  TensorPool pool_;
  std::size_t rows_max_ = 0;
  std::vector<detail::GrowingColumn> columns_;
};

}  // namespace infeed
