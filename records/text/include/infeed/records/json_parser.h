#pragma once

#include <cstddef>
#include <memory>
#include <string_view>
#include <utility>

#include "infeed/error.h"
#include "infeed/records/column_batch.h"
#include "infeed/records/column_parser.h"
#include "infeed/records/column_schema.h"
#include "infeed/records/record.h"
#include "infeed/records/tensor_pool.h"

/// Why: JSON texts come from everywhere (lines that were filtered and shuffled, TFRecords, members
/// of archives), and become columns as those of json_lines() do. A JsonParser has the functions of a
/// ColumnParser, so infeed::parse_columns takes it.
///
///     const infeed::JsonParser parser(infeed::ColumnSchema().bytes("text").ragged(
///         "tokens", infeed::DType::int32));
///     auto batches = infeed::lines("corpus-*.jsonl.gz")
///         | infeed::filter([](const infeed::Record& line) { return !line.empty(); })
///         | infeed::shuffle({.buffer = 10'000})
///         | infeed::parse_columns(parser, 128, {.parallelism = infeed::autotune});
///
/// Each text is one object. records/json_lines.h says which value becomes which column, and what
/// the grammar is; line breaks between values are blanks here. An empty text is an error.
///
/// Errors: invalid_argument for a schema that JSON can't fill. A record's errors are data_loss with
/// column, what was found and what was expected, file, offset and record. Thread-safety and copies:
/// as for ColumnParser.
namespace infeed {

namespace detail {
struct JsonPlan;
}  // namespace detail

class JsonParser {
 public:
  explicit JsonParser(const ColumnSchema& schema);

  // The functions of ColumnParser (column_parser.h).
  const ColumnSchema& schema() const { return columns_.schema(); }
  bool has_fixed_rows() const { return columns_.has_fixed_rows(); }
  std::size_t row_bytes_min() const { return columns_.row_bytes_min(); }
  JsonParser with_pool(TensorPool pool) const;
  ColumnRows begin(std::size_t rows_max) const { return columns_.begin(rows_max); }
  void parse_row(std::string_view text, const Record* place, std::size_t row,
                 ColumnRows& rows) const;
  ColumnBatch finish(ColumnRows&& rows, std::size_t row_count) const {
    return columns_.finish(std::move(rows), row_count);
  }

 private:
  std::shared_ptr<const detail::JsonPlan> plan_;
  ColumnParser columns_;
};

}  // namespace infeed
