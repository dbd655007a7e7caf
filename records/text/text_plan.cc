#include "text/text_plan.h"

#include <algorithm>
#include <fmt/format.h>
#include <limits>

#include "columns/column_values.h"
#include "text/json_text.h"

namespace infeed::detail {

namespace {

std::shared_ptr<const TextPlan> make_text_plan(ColumnSchema schema, BatchMemory memory) {
  auto plan = std::make_shared<TextPlan>();
  plan->pool = TensorPool({.memory = std::move(memory)});
  for (const ColumnType& type : schema.columns()) plan->columns.push_back(plan_column(type));
  plan->names = column_names(schema);
  plan->schema = std::move(schema);
  return plan;
}

std::string rows_of(std::size_t count) {
  return fmt::format("{} row{}", count, count == 1 ? "" : "s");
}

/// Returns the error of a batch in which no row is left.
Error without_good_row(const Error& first, std::size_t rows) {
  return first.reworded(first.code(), fmt::format("{}; none of the {} of this batch can be read",
                                                  first.message(), rows_of(rows)));
}

/// Returns the error of a batch with a bad row, beside which `others` are lost, of which some are bad, too.
Error with_its_batch(const Error& first, std::size_t others, std::size_t bad) {
  if (others == 0) return first;
  const std::string also_bad =
      bad == 0 ? "" : fmt::format(" ({} {} bad, too)", bad, bad == 1 ? "is" : "are");
  return first.reworded(
      first.code(),
      fmt::format("{}; with it {} of its batch{}: {{.bad_rows = infeed::BadRows::leave_out}} loses "
                  "only what can't be read",
                  first.message(),
                  others == 1 ? "goes the other row" : fmt::format("go the other {} rows", others),
                  also_bad));
}

}  // namespace

TextParser::TextParser(ColumnSchema schema, BadRows bad_rows, BatchMemory memory)
    : plan_(make_text_plan(std::move(schema), std::move(memory))), bad_rows_(bad_rows) {}

const ColumnSchema& TextParser::schema() const { return plan_->schema; }

ColumnBatch TextParser::parse(const TextRows& rows, std::size_t* rows_left_out) const {
  Rows parsed(*plan_, rows.rows);
  for (const TextPiece& piece : rows.pieces) parse_piece(piece, parsed);
  const bool leaves_out = bad_rows_ == BadRows::leave_out;
  const bool is_lost = parsed.refused() != 0 && (!leaves_out || parsed.count() == 0);
  const std::size_t others = rows.rows - 1;
  if (rows_left_out != nullptr) *rows_left_out = is_lost ? others : parsed.refused();
  if (!is_lost) return parsed.finish();
  Error error = leaves_out ? without_good_row(*parsed.first_refusal(), rows.rows)
                           : with_its_batch(*parsed.first_refusal(), others, parsed.refused() - 1);
  if (others != 0) error.losing({.records = others});
  throw error;
}

TextParser::Rows::Rows(const TextPlan& plan, std::size_t rows_max)
    : plan_(plan), columns_(plan.columns.size()) {
  for (std::size_t i = 0; i < columns_.size(); ++i) {
    begin_column(*plan.columns[i], rows_max, columns_[i], plan.pool);
  }
}

void TextParser::Rows::refuse(const TextPiece& piece, const char* row, const Problem& problem) {
  for (std::size_t i = 0; i < columns_.size(); ++i) {
    truncate_column(*plan_.columns[i], count_, columns_[i]);
  }
  if (refused_++ != 0) return;
  const std::string_view text = piece.text.bytes();
  const std::string_view before(text.data(), static_cast<std::size_t>(row - text.data()));
  const auto lines = static_cast<std::uint64_t>(std::count(before.begin(), before.end(), '\n'));
  const std::string column =
      problem.column.empty() ? "" : fmt::format(", column '{}'", problem.column);
  Error error(ErrorCode::data_loss, fmt::format("line {}{}: {}{}", piece.line + lines, column,
                                                problem.what, advice_for(problem.column)));
  error.at_file(std::string(piece.text.file()));
  const std::uint64_t begin = piece.text.offset().value_or(0);
  error.at_offset(begin + before.size());
  first_ = std::make_unique<Error>(std::move(error));
}

/// Says that a column's type was a guess, if it was.
std::string TextParser::Rows::advice_for(std::string_view column) const {
  const std::vector<ColumnType>& types = plan_.schema.columns();
  const auto type = std::find_if(types.begin(), types.end(), [&](const ColumnType& one) {
    return one.name == column && one.is_guess;
  });
  if (type == types.end()) return {};
  return fmt::format(
      "; its type ({}) was guessed from the first rows, so give a schema that says what it shall "
      "be",
      to_string(type->dtype));
}

ColumnBatch TextParser::Rows::finish() {
  std::vector<Column> columns;
  columns.reserve(columns_.size());
  for (std::size_t i = 0; i < columns_.size(); ++i) {
    columns.push_back(finish_column(*plan_.columns[i], count_, columns_[i], plan_.pool));
  }
  return {plan_.names, std::move(columns)};
}

std::string quoted_text(std::string_view text) {
  constexpr std::size_t kBytesMax = 40;
  std::string_view front = text.substr(0, kBytesMax);
  // Cuts no character in half.
  while (front.size() < text.size() && !front.empty() &&
         (static_cast<unsigned char>(text[front.size()]) & 0xc0) == 0x80) {
    front.remove_suffix(1);
  }
  const unsigned first_foreign = is_utf8(front) ? 0x100 : 0x80;
  std::string shown;
  for (const char c : front) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x20 || byte == 0x7f || byte >= first_foreign) {
      shown += fmt::format("\\x{:02x}", byte);
    } else {
      shown += c;
    }
  }
  if (front.size() < text.size()) shown += "...";
  return fmt::format("'{}'", shown);
}

std::string expected_value(DType dtype) {
  if (dtype == DType::bytes) return "text";
  if (dtype == DType::boolean) return "true or false (bool)";
  if (is_float(dtype)) return fmt::format("a number ({})", to_string(dtype));
  std::string range;
  with_dtype(dtype, [&range]<class T>(T) {
    if constexpr (std::is_integral_v<T> && !std::is_same_v<T, bool>) {
      range = fmt::format("from {} to {}", std::numeric_limits<T>::min(),
                          std::numeric_limits<T>::max());
    }
  });
  return fmt::format("a whole number {} ({})", range, to_string(dtype));
}

}  // namespace infeed::detail
