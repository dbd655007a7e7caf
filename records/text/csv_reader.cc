#include <algorithm>
#include <fmt/format.h>
#include <limits>
#include <set>
#include <utility>

#include "infeed/records/csv.h"
#include "infeed/records/detail/text_feed.h"
#include "text/csv_fields.h"
#include "text/number_text.h"
#include "text/text_plan.h"
#include "text/text_reader.h"

namespace infeed {
namespace {

/// Guesses a column's type from the cells that it has seen.
class CsvColumnGuess {
 public:
  void see(const detail::CsvField& field, const std::vector<std::string>& nulls) {
    const bool is_null = std::find(nulls.begin(), nulls.end(), field.text) != nulls.end();
    if (is_null && !field.was_quoted) {
      has_nulls_ = true;
      return;
    }
    has_values_ = true;
    // Pads the text, since parsers may look behind a number.
    const std::string padded = field.text + std::string(detail::kTextPaddingBytes, '\0');
    const char* const begin = padded.data();
    const char* const end = begin + field.text.size();
    std::int64_t whole = 0;
    double number = 0;
    is_integer_ &= detail::parse_integer(begin, end, whole) == detail::NumberProblem::none;
    is_number_ &= detail::parse_float(begin, end, number) == detail::NumberProblem::none;
    is_bool_ &= is_name_of_bool(field.text);
    const std::size_t digits = field.text.find_first_not_of("+-");
    if (digits != field.text.npos && field.text[digits] == '0' && digits + 1 < field.text.size() &&
        field.text[digits + 1] >= '0' && field.text[digits + 1] <= '9') {
      is_number_ = is_integer_ = false;
    }
  }

  void add_to(ColumnSchema& schema, std::string name) const {
    if (!has_values_) {
      schema.bytes(std::move(name));
    } else if (is_bool_ && !has_nulls_) {
      schema.column(std::move(name), DType::boolean);
    } else if (is_integer_ && !has_nulls_) {
      schema.column(std::move(name), DType::int64);
    } else if (is_number_) {
      schema.column(std::move(name), DType::float64)
          .if_missing(std::vector<double>{std::numeric_limits<double>::quiet_NaN()});
    } else {
      schema.bytes(std::move(name));
    }
  }

 private:
  static bool is_name_of_bool(std::string_view text) {
    return text == "true" || text == "True" || text == "TRUE" || text == "false" ||
           text == "False" || text == "FALSE";
  }

  bool has_values_ = false;
  bool has_nulls_ = false;
  bool is_integer_ = true;
  bool is_number_ = true;
  bool is_bool_ = true;
};

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
  std::vector<std::string> names;
  std::vector<CsvColumnGuess> guesses;
  detail::TextFeedOptions feed_options{.delimiter = options.delimiter,
                                       .has_quotes = format.has_quotes,
                                       .row_bytes_max = options.row_bytes_max,
                                       .compression = options.compression,
                                       .url = options.url};
  if (options.has_header) {
    feed_options.read_header = [&](std::string_view header) {
      for (auto& field : detail::split_header(header, format)) {
        names.push_back(std::move(field.text));
      }
      return nullptr;
    };
  }
  const auto files = std::make_shared<const std::vector<std::string>>(1, file);
  detail::TextFeed feed(files, feed_options);
  detail::TextRows rows;
  feed.read(std::max<std::size_t>(1, rows_max), rows);
  guesses.resize(names.size());
  for (const detail::TextPiece& piece : rows.pieces) {
    const char* at = piece.text.bytes().data();
    const char* const end = at + piece.text.size();
    while (at != end) {
      const detail::RowScan found = detail::scan_rows(at, end, 1, format);
      std::string_view row(at, static_cast<std::size_t>(found.end - at));
      row.remove_prefix(std::min(row.find_first_not_of("\r\n"), row.size()));
      at = found.end;
      const auto fields = detail::split_fields(row, format);
      if (names.empty()) {
        for (std::size_t i = 0; i < fields.size(); ++i) {
          names.push_back(fmt::format("column{}", i + 1));
        }
        guesses.resize(names.size());
      }
      // A bad row is passed over here; reading the file reports it.
      if (fields.size() != names.size()) continue;
      if (std::ranges::any_of(fields, &detail::CsvField::has_lone_return)) continue;
      for (std::size_t i = 0; i < fields.size(); ++i) guesses[i].see(fields[i], options.nulls);
    }
  }
  if (std::set<std::string>(names.begin(), names.end()).size() != names.size()) {
    throw Error(ErrorCode::invalid_argument,
                "a column's name comes twice in the header; give a schema of the others")
        .at_file(file);
  }
  ColumnSchema schema;
  for (std::size_t i = 0; i < names.size(); ++i) guesses[i].add_to(schema, names[i]);
  return schema;
}

}  // namespace infeed
