#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <limits>
#include <optional>
#include <set>
#include <utility>

#include "infeed/records/csv.h"
#include "infeed/records/detail/csv_row.h"
#include "infeed/records/detail/text_feed.h"
#include "infeed/records/detail/text_value.h"
#include "text/number_guess.h"
#include "text/text_plan.h"
#include "text/text_reader.h"

namespace infeed {
namespace {

/// Rows of one column that are looked at for another delimiter.
constexpr std::size_t kRowsCutAnew = 100;

/// Guesses a column's type from the cells that it has seen.
class CsvColumnGuess {
 public:
  void see(const detail::CsvField& field, const std::vector<std::string>& nulls) {
    const bool is_null = std::find(nulls.begin(), nulls.end(), text_of(field)) != nulls.end();
    if (is_null && !field.was_quoted) {
      has_nulls_ = true;
      return;
    }
    const detail::TextValue value = detail::value_of_cell(field.text);
    switch (value.form) {
      case detail::ValueForm::boolean:
        has_bools_ = true;
        return;
      case detail::ValueForm::text:
      case detail::ValueForm::code:
        has_text_ = true;
        return;
      default:
        has_text_ |= std::isinf(value.number) && detail::is_finite_number(text_of(field));
        numbers_.see(value, text_of(field));
    }
  }

  void add_to(ColumnSchema& schema, std::string name) const {
    const bool is_bool = has_bools_ && !has_text_ && !numbers_.has_numbers() && !has_nulls_;
    if (is_bool) {
      schema.column(std::move(name), DType::boolean);
      return;
    }
    const auto dtype = has_numbers() ? numbers_.dtype(has_nulls_) : std::nullopt;
    if (!dtype) {
      schema.bytes(std::move(name));
      return;
    }
    schema.column(std::move(name), *dtype);
    if (*dtype != DType::float64) return;
    schema.if_missing(std::vector<double>{std::numeric_limits<double>::quiet_NaN()});
  }

  /// True if all values are numbers.
  bool has_numbers() const { return numbers_.has_numbers() && !has_text_ && !has_bools_; }

 private:
  static std::string_view text_of(const detail::CsvField& field) {
    return detail::trimmed_cell(field.text);
  }

  bool has_nulls_ = false;
  bool has_bools_ = false;
  bool has_text_ = false;
  detail::NumberGuess numbers_;
};

/// Throws if the header seems to be a row, which would be lost.
void require_header(const std::string& file, const std::vector<std::string>& names,
                    const std::vector<CsvColumnGuess>& guesses) {
  std::vector<bool> has_numbers;
  for (const CsvColumnGuess& guess : guesses) has_numbers.push_back(guess.has_numbers());
  if (detail::guess_header(names, has_numbers) != detail::HeaderGuess::row) return;
  const auto first = std::find(has_numbers.begin(), has_numbers.end(), true);
  throw Error(ErrorCode::invalid_argument,
              fmt::format("the first row should name the columns, but has numbers like the rows "
                          "below it (first {}): {{.has_header = false}} makes it a row; if it is a "
                          "header, give a schema with these names",
                          detail::quoted_text(
                              names[static_cast<std::size_t>(first - has_numbers.begin())])))
      .at_file(file);
}

/// Throws if the rows seem to have several columns behind another delimiter: they would be one column
/// of texts. `rows` begin with the header, if there is one.
void require_no_other_delimiter(const std::string& file, const std::vector<std::string>& rows,
                                const detail::RowFormat& format) {
  const auto other = detail::find_other_delimiter(rows, format);
  if (!other) return;
  const auto name = [](char delimiter) {
    return delimiter == '\t' ? std::string("'\\t'") : fmt::format("'{}'", delimiter);
  };
  throw Error(
      ErrorCode::invalid_argument,
      fmt::format("with {} between the columns there is only one, {}, but with {} there are "
                  "several, the same number in all rows looked at: {{.delimiter = {}}} reads "
                  "them; if it is one column, give a schema",
                  name(format.delimiter), detail::quoted_text(rows.front()), name(*other),
                  name(*other)))
      .at_file(file);
}

/// Calls see(row) for each row. One that it can't read is passed over: reading the file reports it.
template <class See>
void for_each_row(const detail::TextRows& rows, const detail::RowFormat& format, See see) {
  for (const detail::TextPiece& piece : rows.pieces) {
    const char* at = piece.text.bytes().data();
    const char* const end = at + piece.text.size();
    while (at != end) {
      const detail::RowScan found = detail::scan_rows(at, end, 1, format);
      std::string_view row(at, static_cast<std::size_t>(found.end - at));
      row.remove_prefix(std::min(row.find_first_not_of("\r\n"), row.size()));
      at = found.end;
      try {
        see(row);
      } catch (const Error&) {
        continue;
      }
    }
  }
}

}  // namespace

class CsvReader::State : public detail::TextReader {
 public:
  using TextReader::TextReader;
};

CsvReader::CsvReader(std::vector<std::string> files, ColumnSchema schema, CsvOptions options)
    : state_(std::make_unique<State>(
          std::move(files), detail::make_csv_parser(std::move(schema), std::move(options)))) {}
CsvReader::CsvReader(CsvReader&&) noexcept = default;
CsvReader& CsvReader::operator=(CsvReader&&) noexcept = default;
CsvReader::~CsvReader() = default;

std::unique_ptr<ColumnBatch> CsvReader::read(std::size_t rows_max) {
  return state_->read(rows_max);
}

ColumnSchema infer_csv_schema(const std::string& file, const CsvOptions& options,
                              std::size_t rows_max) {
  detail::check_csv_options(options);
  const detail::RowFormat format = detail::row_format(options);
  detail::CsvRow cells(format);
  std::vector<std::string> names;
  std::vector<CsvColumnGuess> guesses;
  std::vector<std::string> first_rows;
  detail::TextFeedOptions feed_options{.delimiter = options.delimiter,
                                       .is_table = true,
                                       .has_quotes = format.has_quotes,
                                       .row_bytes_max = options.row_bytes_max,
                                       .compression = options.compression,
                                       .url = options.url};
  if (options.has_header) {
    feed_options.read_header = [&](std::string_view header) {
      names = detail::column_names(cells.split(header));
      first_rows.emplace_back(header.substr(0, header.find_last_not_of("\r\n") + 1));
      return nullptr;
    };
  }
  const auto files = std::make_shared<const std::vector<std::string>>(1, file);
  detail::TextFeed feed(files, feed_options);
  detail::TextRows rows;
  feed.read(std::max<std::size_t>(1, rows_max), rows);
  guesses.resize(names.size());
  std::optional<Error> too_many;
  for_each_row(rows, format, [&](std::string_view row) {
    const auto& fields = cells.split(row);
    if (names.empty()) {
      try {
        names = detail::column_names(fields);  // as many as there are
      } catch (const Error& error) {           // other rows that can't be read are passed over
        too_many = error;
        throw;
      }
      for (std::size_t i = 0; i < names.size(); ++i) names[i] = fmt::format("column{}", i + 1);
      guesses.resize(names.size());
    }
    if (fields.size() != names.size()) return;
    if (names.size() == 1 && first_rows.size() < kRowsCutAnew) first_rows.emplace_back(row);
    for (std::size_t i = 0; i < fields.size(); ++i) guesses[i].see(fields[i], options.nulls);
  });
  if (too_many) throw Error(*too_many).at_file(file);
  if (names.size() == 1) require_no_other_delimiter(file, first_rows, format);
  if (options.has_header) require_header(file, names, guesses);
  if (std::set<std::string>(names.begin(), names.end()).size() != names.size()) {
    throw Error(ErrorCode::invalid_argument,
                "a column's name comes twice in the header; give a schema of the others")
        .at_file(file);
  }
  ColumnSchema schema;
  for (std::size_t i = 0; i < names.size(); ++i) {
    guesses[i].add_to(schema, names[i]);
    schema.guessed();
  }
  return schema;
}

}  // namespace infeed
