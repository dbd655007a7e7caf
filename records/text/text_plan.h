#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "columns/column_plan.h"
#include "infeed/error.h"
#include "infeed/records/detail/text_parser.h"

namespace infeed::detail {

/// The parts that all batches of one schema share.
struct TextPlan {
  ColumnSchema schema;
  std::vector<std::unique_ptr<const PlannedColumn>> columns;
  std::shared_ptr<const ColumnNames> names;
  TensorPool pool;
};

/// The columns of one batch while it is made, and errors of its rows.
class TextParser::Rows {
 public:
  Rows(const TextPlan& plan, std::size_t rows_max);

  /// An error of a row: its column (empty if it belongs to none), and a text with what was found
  /// and expected.
  struct Problem {
    std::string column;
    std::string what;
  };
  /// Leaves out the row that is being appended, which begins at `row`, and ends it.
  void refuse(const TextPiece& piece, const char* row, const Problem& problem);

  GrowingColumn& column(std::size_t i) { return columns_[i]; }
  std::span<GrowingColumn> columns() { return columns_; }
  std::size_t count() const { return count_; }
  /// Ends a whole row.
  void end_row() { ++count_; }
  std::size_t refused() const { return refused_; }
  const Error* first_refusal() const { return first_.get(); }
  ColumnBatch finish();

 private:
  std::string advice_for(std::string_view column) const;

  const TextPlan& plan_;
  std::vector<GrowingColumn> columns_;
  std::size_t count_ = 0;
  std::size_t refused_ = 0;
  std::unique_ptr<Error> first_;
};

/// Quotes a text for messages: cut to some forty bytes, without control characters.
std::string quoted_text(std::string_view text);
/// Describes the expected value: "a whole number from -128 to 127 (int8)", "a number (float32)",
/// "text".
std::string expected_value(DType dtype);

}  // namespace infeed::detail
