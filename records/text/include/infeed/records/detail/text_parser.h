#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "infeed/records/column_batch.h"
#include "infeed/records/column_schema.h"
#include "infeed/records/detail/text_feed.h"
#include "infeed/records/text_options.h"

/// What csv and json_lines have in common behind their first step: rows of text become columns. Not
/// meant to be used directly.
namespace infeed::detail {

struct TextPlan;

/// Thread-safety: immutable; any threads may parse at once.
class TextParser {
 public:
  virtual ~TextParser() = default;
  TextParser(const TextParser&) = delete;
  TextParser& operator=(const TextParser&) = delete;

  /// A batch of these rows, without those that are left out, whose number is put into
  /// `rows_left_out`. Throws the Error that stands for the batch.
  ColumnBatch parse(const TextRows& rows, std::size_t* rows_left_out = nullptr) const;
  const ColumnSchema& schema() const;
  /// How the files are to be cut.
  virtual TextFeedOptions feed_options() const = 0;

 protected:
  TextParser(ColumnSchema schema, BadRows bad_rows);

  class Rows;
  /// Appends the rows of a piece, and notes those that can't be read.
  virtual void parse_piece(const TextPiece& piece, Rows& rows) const = 0;
  const TextPlan& plan() const { return *plan_; }

 private:
  const std::shared_ptr<const TextPlan> plan_;
  const BadRows bad_rows_;
};

/// The schema must have columns of one value a row: dense of shape [], or bytes.
std::shared_ptr<const TextParser> make_csv_parser(ColumnSchema schema, CsvOptions options);
std::shared_ptr<const TextParser> make_json_lines_parser(ColumnSchema schema,
                                                         JsonLinesOptions options);

}  // namespace infeed::detail
