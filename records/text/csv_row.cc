#include "infeed/records/detail/csv_row.h"

#include <algorithm>
#include <fmt/format.h>

#include "infeed/error.h"
#include "infeed/records/detail/json_depth.h"
#include "infeed/records/detail/text_value.h"
#include "infeed/records/limits.h"
#include "text/csv_cells.h"
#include "text/text_plan.h"

namespace infeed::detail {
namespace {

/// Leaves one quote of each pair, and returns the new end.
char* join_pairs(char* begin, const char* end) {
  char* to = begin;
  for (const char* at = begin; at != end; ++at) {
    *to++ = *at;
    if (*at == '"') ++at;
  }
  return to;
}

/// Returns the number of fields of all rows; 0 if they differ, or one can't be cut.
std::size_t common_field_count(const std::vector<std::string>& rows, const RowFormat& format) {
  CsvRow cells(format);
  std::size_t count = 0;
  try {
    for (const std::string& row : rows) {
      const std::size_t found = cells.split(row).size();
      if (count != 0 && found != count) return 0;
      count = found;
    }
  } catch (const Error&) {
    return 0;
  }
  return count;
}

}  // namespace

const std::vector<CsvField>& CsvRow::split(std::string_view row) & {
  if (row.ends_with('\n')) row.remove_suffix(1);
  if (row.ends_with('\r')) row.remove_suffix(1);
  text_.assign(row);
  text_ += '\n';
  const std::size_t size = text_.size();
  text_.append(kTextPaddingBytes, '\0');
  fields_.clear();
  const char* at = text_.data();
  const char* const end = at + size;
  while (true) {
    if (fields_.size() == limits::csv_row_fields) {
      throw Error(ErrorCode::data_loss,
                  fmt::format("a row has more than {} fields, which is the limit; is the delimiter "
                              "another one?",
                              limits::csv_row_fields));
    }
    Cell cell;
    const char* const stop = find_cell(at, end, format_.delimiter, format_.has_quotes, cell);
    if (stop == end) {
      const auto lines = std::count(row.begin(), row.end(), '\n') + 1;
      throw Error(
          ErrorCode::data_loss,
          "a quote that opens a field is not closed before the file ends" +
              (lines == 1 ? "" : fmt::format(": all {} lines up to there are one row", lines)));
    }
    if (cell.has_pairs) {
      cell.end = join_pairs(text_.data() + (cell.begin - text_.data()), cell.end);
    }
    fields_.push_back(
        {{cell.begin, static_cast<std::size_t>(cell.end - cell.begin)}, cell.is_quoted});
    if (stop + 1 == end) return fields_;
    if (*stop != format_.delimiter) {
      throw Error(ErrorCode::data_loss, *stop == '\r' || *stop == '\n'
                                            ? lone_return_text()
                                            : behind_quote_text(*stop, format_.delimiter));
    }
    at = stop + 1;
  }
}

std::vector<std::string> column_names(const std::vector<CsvField>& header) {
  std::size_t bytes = 0;
  for (const CsvField& name : header) bytes += name.text.size();
  const std::string wrong = too_many_json_columns(header.size(), bytes);
  if (!wrong.empty()) throw Error(ErrorCode::resource_exhausted, wrong);
  std::vector<std::string> names;
  for (const CsvField& name : header) names.emplace_back(name.text);
  return names;
}

RowFormat row_format(const CsvOptions& options) {
  return {options.delimiter, options.quotes == Quotes::rfc4180, false};
}

std::size_t count_fields(const char* row, const char* end, const RowFormat& format) {
  std::size_t fields = 0;
  for (const char* at = row; at < end; ++at) {
    ++fields;
    Cell cell;
    at = find_cell(at, end, format.delimiter, format.has_quotes, cell);
    // Text behind a closing quote, and lone carriage returns, are counted with the field.
    while (at < end && *at != format.delimiter && line_end_bytes(at) == 0) {
      at = find_field_end(at + 1, format.delimiter);
    }
    if (at >= end || *at != format.delimiter) break;
  }
  return fields;
}

std::string lone_return_text() {
  return "a carriage return stands without a line feed; expected are lines that end with LF or "
         "CRLF: "
         "tr '\\r' '\\n' makes them of lines that end with CR";
}

std::string behind_quote_text(char found, char delimiter) {
  return fmt::format("behind the closing quote stands {} instead of the delimiter {}",
                     quoted_text({&found, 1}), quoted_text({&delimiter, 1}));
}

std::optional<SeparatorLine> find_separator_line(std::string_view begin) {
  constexpr std::string_view kMark = "sep=";
  if (begin.size() < kMark.size() + 2) return std::nullopt;
  for (std::size_t i = 0; i < kMark.size(); ++i) {
    const char c = begin[i];
    if ((i < 3 ? static_cast<char>(c | 0x20) : c) != kMark[i]) return std::nullopt;
  }
  const char delimiter = begin[kMark.size()];
  begin.remove_prefix(kMark.size() + 1);
  const std::size_t line_break = begin.starts_with("\r\n") ? 2 : begin.starts_with('\n') ? 1 : 0;
  if (line_break == 0 || delimiter == '\r' || delimiter == '\n') return std::nullopt;
  return SeparatorLine{delimiter, kMark.size() + 1 + line_break};
}

HeaderGuess guess_header(const std::vector<std::string>& header,
                         const std::vector<bool>& has_numbers_below) {
  std::size_t numbers = 0;
  bool is_rising = true;
  std::int64_t last = -1;
  for (std::size_t i = 0; i < header.size(); ++i) {
    if (!has_numbers_below[i]) continue;
    const TextValue name = value_of_cell(header[i]);
    if (name.form == ValueForm::text || name.form == ValueForm::boolean) return HeaderGuess::names;
    is_rising &= name.form == ValueForm::integer && name.integer > last;
    last = name.integer;
    ++numbers;
  }
  if (numbers == 0) return HeaderGuess::names;
  return is_rising && numbers > 1 ? HeaderGuess::rising_numbers : HeaderGuess::row;
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

std::optional<char> find_other_delimiter(const std::vector<std::string>& rows, RowFormat format) {
  const char given = format.delimiter;
  for (const char delimiter : kUsualDelimiters) {
    if (delimiter == given) continue;
    format.delimiter = delimiter;
    if (common_field_count(rows, format) > 1) return delimiter;
  }
  return std::nullopt;
}

}  // namespace infeed::detail
