#include "text/csv_fields.h"

#include <algorithm>
#include <fmt/format.h>

#include "infeed/error.h"
#include "infeed/records/limits.h"
#include "text/text_plan.h"

namespace infeed::detail {

RowFormat row_format(const CsvOptions& options) {
  return {options.delimiter, options.quotes == Quotes::rfc4180, false};
}

namespace {

template <class Take>
void take_fields(std::string_view row, const RowFormat& format, Take take) {
  if (row.ends_with('\n')) row.remove_suffix(1);
  if (row.ends_with('\r')) row.remove_suffix(1);
  std::size_t at = 0;
  while (true) {
    CsvField field;
    if (format.has_quotes && at < row.size() && row[at] == '"') {
      field.was_quoted = true;
      for (++at; at < row.size(); ++at) {
        if (row[at] == '"' && (++at == row.size() || row[at] != '"')) break;
        field.text += row[at];
      }
    }
    const std::size_t end = std::min(row.find(format.delimiter, at), row.size());
    const std::string_view rest = row.substr(at, end - at);
    field.has_lone_return = rest.find('\r') != rest.npos;
    field.text += rest;
    take(std::move(field));
    if (end == row.size()) return;
    at = end + 1;
  }
}

}  // namespace

std::vector<CsvField> split_fields(std::string_view row, const RowFormat& format) {
  std::vector<CsvField> fields;
  take_fields(row, format, [&fields](CsvField field) {
    if (fields.size() == limits::csv_row_fields) {
      throw Error(ErrorCode::data_loss,
                  fmt::format("a row has more than {} fields, which is the limit; is the delimiter "
                              "another one?",
                              limits::csv_row_fields));
    }
    fields.push_back(std::move(field));
  });
  return fields;
}

std::vector<CsvField> split_header(std::string_view header, const RowFormat& format) {
  std::vector<CsvField> fields = split_fields(header, format);
  for (const CsvField& field : fields) {
    if (field.has_lone_return) throw Error(ErrorCode::data_loss, lone_return_text());
  }
  return fields;
}

std::string lone_return_text() {
  return "a carriage return stands without a line feed; expected are lines that end with LF or "
         "CRLF: "
         "tr '\\r' '\\n' makes them of lines that end with CR";
}

std::size_t count_fields(std::string_view row, const RowFormat& format) {
  std::size_t fields = 0;
  take_fields(row, format, [&fields](const CsvField& /*field*/) { ++fields; });
  return fields;
}

void check_csv_options(const CsvOptions& options) {
  const char c = options.delimiter;
  const bool is_of_numbers = (c >= '0' && c <= '9') || ((c | 0x20) >= 'a' && (c | 0x20) <= 'z') ||
                             c == '.' || c == '+' || c == '-';
  if (c == '\n' || c == '\r' || c == '\0' || c == '"' || is_of_numbers) {
    throw Error(ErrorCode::invalid_argument,
                fmt::format("csv: the delimiter is {}; give a byte that is no line break, no "
                            "quote and nothing that numbers are written with",
                            quoted_text({&c, 1})));
  }
}

}  // namespace infeed::detail
