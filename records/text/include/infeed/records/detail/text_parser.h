#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "infeed/records/batch_memory.h"
#include "infeed/records/column_batch.h"
#include "infeed/records/column_schema.h"
#include "infeed/records/detail/text_feed.h"
#include "infeed/records/text_options.h"

/// The second step of csv and json_lines: rows of text become columns. Not meant to be used
/// directly.
namespace infeed::detail {

struct TextPlan;

/// Turns rows into batches. Thread-safety: immutable; any threads may parse at once.
class TextParser {
 public:
  virtual ~TextParser() = default;
  TextParser(const TextParser&) = delete;
  TextParser& operator=(const TextParser&) = delete;

  /// Returns a batch of these rows. Throws the Error that stands for the batch, and for one of its rows. `rows_left_out`
  /// becomes the number of rows that neither a batch has nor an Error stands for.
  ColumnBatch parse(const TextRows& rows, std::size_t* rows_left_out = nullptr) const;
  const ColumnSchema& schema() const;
  /// Returns how files must be cut into rows.
  virtual TextFeedOptions feed_options() const = 0;

 protected:
  TextParser(ColumnSchema schema, BadRows bad_rows, BatchMemory memory);

  class Rows;
  /// Appends the rows of a piece, and notes rows that can't be read.
  virtual void parse_piece(const TextPiece& piece, Rows& rows) const = 0;
  const TextPlan& plan() const { return *plan_; }

 private:
  const std::shared_ptr<const TextPlan> plan_;
  const BadRows bad_rows_;
};

/// Makes a parser of CSV. The schema must have columns of one value a row: dense of shape [], or
/// bytes. The batches lie in `memory`.
std::shared_ptr<const TextParser> make_csv_parser(ColumnSchema schema, CsvOptions options,
                                                  BatchMemory memory = nullptr);
std::shared_ptr<const TextParser> make_json_lines_parser(ColumnSchema schema,
                                                         JsonLinesOptions options,
                                                         BatchMemory memory = nullptr);

}  // namespace infeed::detail
