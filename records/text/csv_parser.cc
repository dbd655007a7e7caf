#include <algorithm>
#include <bit>
#include <cstring>
#include <fmt/format.h>
#include <optional>

#include "columns/column_values.h"
#include "infeed/records/detail/nearest_names.h"
#include "infeed/records/detail/text_parser.h"
#include "text/csv_fields.h"
#include "text/number_text.h"
#include "text/text_masks.h"
#include "text/text_plan.h"

namespace infeed::detail {
namespace {

constexpr std::size_t kNoColumn = ~std::size_t{0};

/// Which field of a row belongs to which column.
struct CsvLayout final : TextLayout {
  std::vector<std::size_t> columns;  ///< of each field; kNoColumn: nobody wants it
  std::vector<std::size_t> absent;   ///< columns that have no field, but a default
  std::vector<std::string> names;    ///< of the fields
};

/// Goes from one end of a field to the next. The text ends with a line feed.
class FieldEnds {
 public:
  FieldEnds(const char* text, char delimiter)
      : delimiter_(delimiter), block_(text), ends_(find(text)) {}

  /// The first delimiter, line feed or carriage return at or behind `at`, which is never before
  /// that of the call before.
  const char* next(const char* at) {
    const auto passed = static_cast<std::size_t>(at - block_);
    if (passed < 64) {
      ends_ &= ~std::uint64_t{0} << passed;
    } else {
      block_ = at;
      ends_ = find(at);
    }
    while (ends_ == 0) {
      block_ += 64;
      ends_ = find(block_);
    }
    return block_ + std::countr_zero(ends_);
  }

 private:
  std::uint64_t find(const char* block) const {
    return Bytes64(block).equal_any(delimiter_, '\n', '\r');
  }

  char delimiter_;
  const char* block_;
  std::uint64_t ends_;
};

enum class CellProblem : std::uint8_t { none, no_value, out_of_range, missing };

struct Cell {
  const char* begin;
  const char* end;
  bool is_quoted;
  bool has_pairs;  ///< of quotes, each of which stands for one
};

constexpr bool is_blank(char c) { return c == ' ' || c == '\t'; }

bool parse_bool(std::string_view text, bool& out) {
  if (text == "true" || text == "1" || text == "True" || text == "TRUE") {
    out = true;
  } else if (text == "false" || text == "0" || text == "False" || text == "FALSE") {
    out = false;
  } else {
    return false;
  }
  return true;
}

template <class T>
NumberProblem parse_number(const char* begin, const char* end, T* out) {
  if constexpr (std::is_same_v<T, bool>) {
    const std::string_view text(begin, static_cast<std::size_t>(end - begin));
    return parse_bool(text, *out) ? NumberProblem::none : NumberProblem::no_number;
  } else if constexpr (std::is_integral_v<T>) {
    return parse_integer(begin, end, *out);
  } else if constexpr (std::is_same_v<T, float> || std::is_same_v<T, double>) {
    return parse_float(begin, end, *out);
  } else {
    float value = 0;
    const NumberProblem problem = parse_float(begin, end, value);
    if (problem == NumberProblem::none) *out = T(value);
    return problem;
  }
}

/// A copy of a text in quotes, with one quote for each pair.
void append_unquoted(const Cell& cell, GrowingBuffer& values, const TensorPool& pool) {
  for (const char* at = cell.begin; at < cell.end;) {
    const char* const quote = std::min(find_char(at, cell.end, '"') + 1, cell.end);
    const auto size = static_cast<std::size_t>(quote - at);
    std::memcpy(values.extend(size, pool), at, size);
    at = quote + 1;
  }
}

void append_cell(const Cell& cell, GrowingColumn& out, const TensorPool& pool) {
  constexpr std::size_t kShortBytes = 16;
  GrowingBuffer& values = out.values;
  if (cell.has_pairs) {
    append_unquoted(cell, values, pool);
  } else {
    // Most texts are short: one copy of fixed size, without a call and a loop.
    const auto size = static_cast<std::size_t>(cell.end - cell.begin);
    std::byte* const to = values.extend(size + kShortBytes, pool);
    std::memcpy(to, cell.begin, kShortBytes);
    if (size > kShortBytes) std::memcpy(to, cell.begin, size);
    values.truncate(values.size_bytes() - kShortBytes);
  }
  out.partitions[0].push_back(static_cast<std::int64_t>(values.size_bytes()), pool);
}

class CsvParser final : public TextParser {
 public:
  CsvParser(ColumnSchema schema, CsvOptions options)
      : TextParser(std::move(schema), options.bad_rows), options_(std::move(options)) {
    check_csv_options(options_);
    options_.row_bytes_max.of("csv", "row_bytes_max");
    for (const ColumnType& type : this->schema().columns()) check_type(type);
    for (const std::string& null : options_.nulls) {
      double ignored = 0;
      std::string padded = null + std::string(kTextPaddingBytes, ' ');
      const bool is_number =
          parse_float(padded.data(), padded.data() + null.size(), ignored) == NumberProblem::none;
      // What is no number is only looked for once a cell was found to be none.
      if (is_number || null == "true" || null == "false") numbers_as_nulls_ = true;
    }
  }

  TextFeedOptions feed_options() const override {
    TextFeedOptions feed{.delimiter = options_.delimiter,
                         .has_quotes = options_.quotes == Quotes::rfc4180,
                         .row_bytes_max = options_.row_bytes_max,
                         .compression = options_.compression,
                         .url = options_.url};
    if (options_.has_header) {
      feed.read_header = [this](std::string_view header) { return layout_by_names(header); };
    } else {
      feed.layout = layout_by_order();
    }
    return feed;
  }

 protected:
  void parse_piece(const TextPiece& piece, Rows& rows) const override;

 private:
  static void check_type(const ColumnType& type) {
    if (type.kind == Column::Kind::bytes) return;
    if (type.kind == Column::Kind::dense && type.shape.rank() == 0) return;
    throw Error(ErrorCode::invalid_argument,
                fmt::format("csv: column '{}' is {} of shape {}, but a cell holds one value: give "
                            "a dense column of shape [], or bytes",
                            type.name, to_string(type.kind), type.shape.to_string()));
  }

  std::shared_ptr<const TextLayout> layout_by_names(std::string_view header) const;
  std::shared_ptr<const TextLayout> layout_by_order() const {
    auto layout = std::make_shared<CsvLayout>();
    for (const ColumnType& type : schema().columns()) {
      layout->columns.push_back(layout->names.size());
      layout->names.push_back(type.name);
    }
    return layout;
  }

  bool is_null(const Cell& cell) const {
    const std::string_view text(cell.begin, static_cast<std::size_t>(cell.end - cell.begin));
    return std::find(options_.nulls.begin(), options_.nulls.end(), text) != options_.nulls.end();
  }
  CellProblem store_null(const PlannedColumn& column, GrowingColumn& out, std::size_t row) const {
    if (!column.type.missing) return CellProblem::missing;
    append_default(column, out, row, plan().pool);
    return CellProblem::none;
  }
  CellProblem store_text(const PlannedColumn& column, const Cell& cell, GrowingColumn& out,
                         std::size_t row) const {
    if (column.type.missing && !cell.is_quoted && is_null(cell))
      return store_null(column, out, row);
    append_cell(cell, out, plan().pool);
    return CellProblem::none;
  }
  template <class T>
  [[gnu::always_inline]] CellProblem store_number_of(const PlannedColumn& column, const Cell& cell,
                                                     GrowingColumn& out, std::size_t row) const {
    T* const to = reinterpret_cast<T*>(out.values.data()) + row;
    if (!numbers_as_nulls_) [[likely]] {
      if (parse_number(cell.begin, cell.end, to) == NumberProblem::none) [[likely]] {
        return CellProblem::none;
      }
    }
    return store_unusual_number<T>(column, cell, out, row);
  }
  template <class T>
  [[gnu::noinline]] CellProblem store_unusual_number(const PlannedColumn& column, Cell cell,
                                                     GrowingColumn& out, std::size_t row) const {
    while (cell.begin != cell.end && is_blank(*cell.begin)) ++cell.begin;
    while (cell.begin != cell.end && is_blank(cell.end[-1])) --cell.end;
    if (is_null(cell)) return store_null(column, out, row);
    T* const to = reinterpret_cast<T*>(out.values.data()) + row;
    const NumberProblem problem = parse_number(cell.begin, cell.end, to);
    if (problem == NumberProblem::none) return CellProblem::none;
    if (cell.begin == cell.end) return CellProblem::missing;
    return problem == NumberProblem::no_number ? CellProblem::no_value : CellProblem::out_of_range;
  }
  CellProblem store(const PlannedColumn& column, const Cell& cell, GrowingColumn& out,
                    std::size_t row) const {
    switch (column.type.dtype) {
      case DType::int64:
        return store_number_of<std::int64_t>(column, cell, out, row);
      case DType::float32:
        return store_number_of<float>(column, cell, out, row);
      case DType::float64:
        return store_number_of<double>(column, cell, out, row);
      case DType::bytes:
        return store_text(column, cell, out, row);
      default:
        break;
    }
    return with_dtype(column.type.dtype,
                      [&]<class T>(T) { return store_number_of<T>(column, cell, out, row); });
  }

  struct RowEnd {
    const char* next;  ///< row; null: the row can't be read
    Rows::Problem problem;
  };
  const char* parse_row(const char* row, const char* end, const CsvLayout& layout, FieldEnds& ends,
                        Rows& rows, Rows::Problem& problem) const;
  Rows::Problem problem_of_cell(CellProblem what, std::size_t column, const Cell& cell) const;
  Rows::Problem wrong_count(const char* row, const char* end, const CsvLayout& layout) const;

  CsvOptions options_;
  bool numbers_as_nulls_ = false;
};

std::shared_ptr<const TextLayout> CsvParser::layout_by_names(std::string_view header) const {
  auto layout = std::make_shared<CsvLayout>();
  for (CsvField& field : split_fields(header, row_format(options_))) {
    layout->names.push_back(std::move(field.text));
  }
  layout->columns.assign(layout->names.size(), kNoColumn);
  for (std::size_t i = 0; i < plan().columns.size(); ++i) {
    const ColumnType& type = plan().columns[i]->type;
    const auto found = std::find(layout->names.begin(), layout->names.end(), type.name);
    if (found == layout->names.end()) {
      if (type.missing) {
        layout->absent.push_back(i);
        continue;
      }
      const auto nearest = names_by_distance(layout->names, type.name);
      throw Error(ErrorCode::invalid_argument,
                  fmt::format("the header has no column '{}'{}; it has {}", type.name,
                              did_you_mean(nearest, type.name), quoted_names(layout->names)));
    }
    if (std::find(found + 1, layout->names.end(), type.name) != layout->names.end()) {
      throw Error(ErrorCode::invalid_argument,
                  fmt::format("the header has the column '{}' twice", type.name));
    }
    layout->columns[static_cast<std::size_t>(found - layout->names.begin())] = i;
  }
  return layout;
}

CsvParser::Rows::Problem CsvParser::problem_of_cell(CellProblem what, std::size_t column,
                                                    const Cell& cell) const {
  const ColumnType& type = plan().columns[column]->type;
  const std::string_view text(cell.begin, static_cast<std::size_t>(cell.end - cell.begin));
  const std::string expected = expected_value(type.dtype);
  if (what == CellProblem::missing) {
    return {type.name,
            fmt::format("{} is no value, but {} is expected; a default (if_missing) would stand in "
                        "for it",
                        text.empty() ? "an empty cell" : quoted_text(text), expected)};
  }
  return {type.name, fmt::format("{} is {}; expected is {}", quoted_text(text),
                                 what == CellProblem::out_of_range ? "beyond the column's type"
                                 : type.dtype == DType::boolean    ? "neither true nor false"
                                                                   : "no number of that kind",
                                 expected)};
}

CsvParser::Rows::Problem CsvParser::wrong_count(const char* row, const char* end,
                                                const CsvLayout& layout) const {
  const RowFormat format = row_format(options_);
  const RowScan found = scan_rows(row, end, 1, format);
  const std::string_view text(row, static_cast<std::size_t>(found.end - row));
  const std::size_t fields = split_fields(text, format).size();
  return {{},
          fmt::format("the row has {} field{}, but {} {} expected ({})", fields,
                      fields == 1 ? "" : "s", layout.columns.size(),
                      layout.columns.size() == 1 ? "is" : "are", quoted_names(layout.names))};
}

/// Returns where the next row begins; null, and sets `problem`, when it can't be read.
const char* CsvParser::parse_row(const char* row, const char* end, const CsvLayout& layout,
                                 FieldEnds& ends, Rows& rows, Rows::Problem& problem) const {
  const TextPlan& text_plan = plan();
  const bool has_quotes = options_.quotes == Quotes::rfc4180;
  const std::size_t fields = layout.columns.size();
  const char* at = row;
  for (std::size_t f = 0; f < fields; ++f) {
    Cell cell{at, at, false, false};
    const char* stop = nullptr;
    if (has_quotes && *at == '"') {
      cell.begin = at + 1;
      cell.is_quoted = true;
      stop = find_char(at + 1, end, '"');
      while (stop != end && stop[1] == '"') {
        cell.has_pairs = true;
        stop = find_char(stop + 2, end, '"');
      }
      cell.end = stop;
      if (stop != end) ++stop;
    } else {
      stop = ends.next(at);
      cell.end = stop;
    }
    const bool is_line_end = *stop == '\n' || (*stop == '\r' && stop[1] == '\n');
    if (!is_line_end && *stop != options_.delimiter) {
      problem = {layout.names[f],
                 *stop == '\r'
                     ? "a carriage return stands without a line feed; expected are lines "
                       "that end with LF or CRLF"
                     : fmt::format("behind the closing quote stands {} instead of the "
                                   "delimiter {}",
                                   quoted_text({stop, 1}), quoted_text({&options_.delimiter, 1}))};
      return nullptr;
    }
    if (is_line_end != (f + 1 == fields)) {
      problem = wrong_count(row, end, layout);
      return nullptr;
    }
    at = stop + (*stop == '\r' ? 2 : 1);
    const std::size_t c = layout.columns[f];
    if (c == kNoColumn) continue;
    const CellProblem what = store(*text_plan.columns[c], cell, rows.column(c), rows.count());
    if (what != CellProblem::none) {
      problem = problem_of_cell(what, c, cell);
      return nullptr;
    }
  }
  for (const std::size_t c : layout.absent) {
    append_default(*text_plan.columns[c], rows.column(c), rows.count(), text_plan.pool);
  }
  return at;
}

void CsvParser::parse_piece(const TextPiece& piece, Rows& rows) const {
  const auto& layout = static_cast<const CsvLayout&>(*piece.layout);
  const char* at = piece.text.bytes().data();
  const char* const end = at + piece.text.size();
  FieldEnds ends(at, options_.delimiter);
  Rows::Problem problem;
  while (at != end) {
    if (*at == '\n') {
      ++at;
      continue;
    }
    if (*at == '\r' && at[1] == '\n') {
      at += 2;
      continue;
    }
    const char* const next = parse_row(at, end, layout, ends, rows, problem);
    if (next != nullptr) {
      rows.end_row();
      at = next;
      continue;
    }
    rows.refuse(piece, at, problem);
    const char* const behind = scan_rows(at, end, 1, row_format(options_)).end;
    at = behind;
    ends = FieldEnds(at, options_.delimiter);
  }
}

}  // namespace

std::shared_ptr<const TextParser> make_csv_parser(ColumnSchema schema, CsvOptions options) {
  return std::make_shared<CsvParser>(std::move(schema), std::move(options));
}

}  // namespace infeed::detail
