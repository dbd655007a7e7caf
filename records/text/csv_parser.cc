#include <algorithm>
#include <fmt/format.h>
#include <unordered_map>

#include "columns/column_values.h"
#include "infeed/records/detail/csv_row.h"
#include "infeed/records/detail/nearest_names.h"
#include "infeed/records/detail/text_parser.h"
#include "text/csv_cells.h"
#include "text/number_scan.h"
#include "text/number_text.h"
#include "text/text_masks.h"
#include "text/text_plan.h"

namespace infeed::detail {
namespace {

constexpr std::size_t kNoColumn = ~std::size_t{0};

/// Maps the fields of a row to columns.
struct CsvLayout final : TextLayout {
  std::vector<std::size_t> columns;  ///< column of each field; kNoColumn: nobody wants the field
  std::vector<std::size_t> absent;   ///< columns that have a default but no field
  std::vector<std::string> names;    ///< names of the fields
};

class CsvParser final : public TextParser {
 public:
  CsvParser(ColumnSchema schema, CsvOptions options, BatchMemory memory)
      : TextParser(std::move(schema), options.bad_rows, std::move(memory)),
        options_(std::move(options)) {
    check_csv_options(options_);
    options_.row_bytes_max.of("csv", "row_bytes_max");
    for (const ColumnType& type : this->schema().columns()) check_type(type);
    for (const std::string& null : options_.nulls) {
      double ignored = 0;
      std::string padded = null + std::string(kTextPaddingBytes, ' ');
      const bool is_number =
          parse_float(padded.data(), padded.data() + null.size(), ignored) == NumberProblem::none;
      // Nulls that are no numbers are only looked for once a cell has turned out to be no number.
      if (is_number || parse_bool_name(null).has_value()) numbers_as_nulls_ = true;
    }
  }

  TextFeedOptions feed_options() const override {
    TextFeedOptions feed{.delimiter = options_.delimiter,
                         .is_table = true,
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
    if (!numbers_as_nulls_ && !column.type.is_guess &&
        parse_number(cell.begin, cell.end, to) == NumberProblem::none) {
      return CellProblem::none;
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
    if (problem == NumberProblem::none) {
      return column.type.is_guess && !keeps_number(column.type.dtype, cell.begin, cell.end)
                 ? CellProblem::changed
                 : CellProblem::none;
    }
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

  /// The target of one field's cells, found once for many rows.
  struct FieldTarget {
    ScanNumber scan = nullptr;    ///< null: there is no quick way
    std::byte* values = nullptr;  ///< numbers, whose places don't move
    std::size_t column = kNoColumn;
    const PlannedColumn* planned = nullptr;  ///< null: nobody wants the field
    GrowingColumn* out = nullptr;
    bool is_guess = false;
  };
  /// False if a guessed type would change a number as it is written.
  static bool keeps_number(DType dtype, const char* begin, const char* end) {
    const char* const digits = begin + (*begin == '-' || *begin == '+' ? 1 : 0);
    if (end - digits > 1 && digits[0] == '0' && digits[1] >= '0' && digits[1] <= '9') return false;
    return dtype != DType::float64 || end - digits <= kDigitsOfFloat64 ||
           !float64_rounds({begin, static_cast<std::size_t>(end - begin)});
  }
  /// Stores a number in the usual form, without blanks and quotes. Returns its end if the cell ends
  /// there; null when the cell needs a closer look.
  static const char* store_quickly(const FieldTarget& target, const char* at, std::size_t row,
                                   char delimiter) {
    if (target.scan == nullptr) return nullptr;
    const char* const stop = target.scan(at, target.values, row);
    if (stop == nullptr) return nullptr;
    if (target.is_guess && !keeps_number(target.planned->type.dtype, at, stop)) return nullptr;
    return *stop == delimiter || *stop == '\n' || *stop == '\r' ? stop : nullptr;
  }

  std::vector<FieldTarget> targets_of(const CsvLayout& layout, Rows& rows) const {
    std::vector<FieldTarget> targets;
    for (const std::size_t c : layout.columns) {
      FieldTarget& target = targets.emplace_back();
      if (c == kNoColumn) continue;
      const PlannedColumn& planned = *plan().columns[c];
      GrowingColumn& out = rows.column(c);
      target = {nullptr, out.values.data(), c, &planned, &out, planned.type.is_guess};
      // Nulls that look like numbers must be looked for before anything else.
      if (!numbers_as_nulls_) target.scan = number_scan(planned.type.dtype, NumberForm::table);
    }
    return targets;
  }

  const char* parse_row(const char* row, const char* end, const CsvLayout& layout,
                        const std::vector<FieldTarget>& targets, Rows& rows,
                        Rows::Problem& problem) const;
  Rows::Problem problem_of_cell(CellProblem what, std::size_t column, const Cell& cell) const;
  Rows::Problem problem_behind_cell(const char* stop, const std::string& field) const;
  Rows::Problem wrong_count(const char* row, const char* end, const CsvLayout& layout) const;

  CsvOptions options_;
  bool numbers_as_nulls_ = false;
};

std::shared_ptr<const TextLayout> CsvParser::layout_by_names(std::string_view header) const {
  auto layout = std::make_shared<CsvLayout>();
  CsvRow cells(row_format(options_));
  for (const CsvField& field : cells.split(header)) layout->names.emplace_back(field.text);
  layout->columns.assign(layout->names.size(), kNoColumn);
  std::unordered_multimap<std::string_view, std::size_t> fields;
  for (std::size_t f = 0; f < layout->names.size(); ++f) fields.emplace(layout->names[f], f);
  for (std::size_t i = 0; i < plan().columns.size(); ++i) {
    const ColumnType& type = plan().columns[i]->type;
    const auto [found, end] = fields.equal_range(type.name);
    if (found == end) {
      if (type.missing) {
        layout->absent.push_back(i);
        continue;
      }
      const auto nearest = names_by_distance(layout->names, type.name);
      throw Error(ErrorCode::invalid_argument,
                  fmt::format("the header has no column '{}'{}; it has {}", type.name,
                              did_you_mean(nearest, type.name), quoted_names(layout->names)));
    }
    if (std::next(found) != end) {
      throw Error(ErrorCode::invalid_argument,
                  fmt::format("the header has the column '{}' twice", type.name));
    }
    layout->columns[found->second] = i;
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
  if (what == CellProblem::changed) {
    return {type.name,
            fmt::format("{} would {} as {}", quoted_text(text),
                        has_leading_zeros(trimmed_cell(text)) ? "lose its zeros" : "be rounded",
                        to_string(type.dtype))};
  }
  return {type.name, fmt::format("{} is {}; expected is {}", quoted_text(text),
                                 what == CellProblem::out_of_range ? "beyond the column's type"
                                 : type.dtype == DType::boolean    ? "neither true nor false"
                                                                   : "no number of that kind",
                                 expected)};
}

CsvParser::Rows::Problem CsvParser::wrong_count(const char* row, const char* end,
                                                const CsvLayout& layout) const {
  const std::size_t fields = count_fields(row, end, row_format(options_));
  return {{},
          fmt::format("the row has {} field{}, but {} {} expected ({})", fields,
                      fields == 1 ? "" : "s", layout.columns.size(),
                      layout.columns.size() == 1 ? "is" : "are", quoted_names(layout.names))};
}

CsvParser::Rows::Problem CsvParser::problem_behind_cell(const char* stop,
                                                        const std::string& field) const {
  if (*stop == '\r') return {field, lone_return_text()};
  return {field, behind_quote_text(*stop, options_.delimiter)};
}

/// Returns where the next row begins. Returns null and sets `problem` when the row can't be read.
const char* CsvParser::parse_row(const char* row, const char* end, const CsvLayout& layout,
                                 const std::vector<FieldTarget>& targets, Rows& rows,
                                 Rows::Problem& problem) const {
  const char delimiter = options_.delimiter;
  const bool has_quotes = options_.quotes == Quotes::rfc4180;
  const std::size_t fields = targets.size();
  const std::size_t number = rows.count();
  const char* at = row;
  for (std::size_t f = 0; f < fields; ++f) {
    const FieldTarget& target = targets[f];
    Cell cell{at, at, false, false};
    CellProblem what = CellProblem::none;
    const char* stop = store_quickly(target, at, number, delimiter);
    if (stop == nullptr) {
      stop = find_cell(at, end, delimiter, has_quotes, cell);
      if (target.planned != nullptr) what = store(*target.planned, cell, *target.out, number);
    }
    const bool is_last = f + 1 == fields;
    if (*stop == delimiter && !is_last) [[likely]] {
      at = stop + 1;
    } else if (const std::size_t size = line_end_bytes(stop); size != 0 && is_last) {
      at = stop + size;
    } else {
      problem = size != 0 || *stop == delimiter ? wrong_count(row, end, layout)
                                                : problem_behind_cell(stop, layout.names[f]);
      return nullptr;
    }
    if (what != CellProblem::none) {
      problem = problem_of_cell(what, target.column, cell);
      return nullptr;
    }
  }
  for (const std::size_t c : layout.absent) {
    append_default(*plan().columns[c], rows.column(c), number, plan().pool);
  }
  return at;
}

void CsvParser::parse_piece(const TextPiece& piece, Rows& rows) const {
  const auto& layout = static_cast<const CsvLayout&>(*piece.layout);
  const char* at = piece.text.bytes().data();
  const char* const end = at + piece.text.size();
  const std::vector<FieldTarget> targets = targets_of(layout, rows);
  Rows::Problem problem;
  while (at != end) {
    if (const std::size_t empty_line = line_end_bytes(at); empty_line != 0) {
      at += empty_line;
      continue;
    }
    const char* const next = parse_row(at, end, layout, targets, rows, problem);
    if (next != nullptr) {
      rows.end_row();
      at = next;
      continue;
    }
    rows.refuse(piece, at, problem);
    at = scan_rows(at, end, 1, row_format(options_)).end;
  }
}

}  // namespace

std::shared_ptr<const TextParser> make_csv_parser(ColumnSchema schema, CsvOptions options,
                                                  BatchMemory memory) {
  return std::make_shared<CsvParser>(std::move(schema), std::move(options), std::move(memory));
}

}  // namespace infeed::detail
