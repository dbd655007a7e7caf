#include "convert/inputs/field_splitter.h"

#include <algorithm>
#include <fmt/format.h>

#include <infeed/error.h>
#include <infeed/records/limits.h>

namespace infeed::tools {
namespace {

constexpr std::string_view kUsualSeparators = ";\t|,";

Error lone_return() {
  return Error(ErrorCode::data_loss,
               "a carriage return stands without a line feed; expected are lines that end with LF "
               "or CRLF: tr '\\r' '\\n' makes them of lines that end with CR");
}

/// Returns the number of fields of all rows; 0 if they differ, or one can't be cut.
std::size_t common_field_count(const std::vector<std::string>& rows, TableFormat format) {
  FieldSplitter splitter(format);
  std::size_t count = 0;
  try {
    for (const std::string& row : rows) {
      const std::size_t found = splitter.split(row).size();
      if (count != 0 && found != count) return 0;
      count = found;
    }
  } catch (const Error&) {
    return 0;
  }
  return count;
}

}  // namespace

const std::vector<std::string_view>& FieldSplitter::split(std::string_view row) {
  const bool has_return = row.find('\r') != row.npos;
  fields_.clear();
  unquoted_.clear();
  unquoted_.reserve(row.size());  // keeps views into it valid
  for (std::size_t at = 0; at <= row.size();) {
    if (fields_.size() == infeed::limits::csv_row_fields) {
      throw Error(ErrorCode::data_loss,
                  fmt::format("the row has more than {} fields, which is the limit; is --delimiter "
                              "another one?",
                              infeed::limits::csv_row_fields));
    }
    if (format_.quotes == Quotes::csv && at < row.size() && row[at] == '"') {
      at = take_quoted(row, at);
    } else {
      const std::size_t end = std::min(row.find(format_.separator, at), row.size());
      fields_.push_back(row.substr(at, end - at));
      if (has_return && fields_.back().find('\r') != row.npos) throw lone_return();
      at = end + 1;
    }
  }
  return fields_;
}

/// Returns where the next field begins.
std::size_t FieldSplitter::take_quoted(std::string_view row, std::size_t at) {
  const std::size_t begin = unquoted_.size();
  while (true) {
    const std::size_t quote = row.find('"', at + 1);
    if (quote == std::string_view::npos) {
      throw Error(ErrorCode::data_loss,
                  "a quote that opens a field is not closed before the file ends");
    }
    unquoted_.append(row, at + 1, quote - at - 1);
    at = quote + 1;
    if (at >= row.size() || row[at] != '"') break;
    unquoted_.push_back('"');
  }
  if (at < row.size() && row[at] == '\r') throw lone_return();
  if (at < row.size() && row[at] != format_.separator) {
    throw Error(ErrorCode::data_loss,
                fmt::format("behind a field's closing quote stands '{}' instead of the separator",
                            row[at]));
  }
  fields_.push_back(std::string_view(unquoted_).substr(begin));
  return at + 1;
}

char parse_delimiter(const std::string& text) {
  if (text == "tab" || text == "\\t") return '\t';
  if (text.size() == 1 && text.find_first_of("\"\r\n") == std::string::npos) return text.front();
  throw Error(ErrorCode::invalid_argument,
              fmt::format("--delimiter takes one byte that is no quote and no line break, or tab, "
                          "but '{}' is given",
                          text));
}

std::string delimiter_name(char delimiter) {
  return delimiter == '\t' ? "tab" : fmt::format("'{}'", delimiter);
}

std::optional<char> find_other_separator(const std::vector<std::string>& rows, TableFormat format) {
  for (const char separator : kUsualSeparators) {
    if (separator == format.separator) continue;
    if (common_field_count(rows, {separator, format.quotes}) > 1) return separator;
  }
  return std::nullopt;
}

std::optional<char> find_possible_separator(std::string_view first_row, TableFormat format) {
  const auto found =
      std::find_if(kUsualSeparators.begin(), kUsualSeparators.end(), [&](char separator) {
        return separator != format.separator && first_row.find(separator) != first_row.npos;
      });
  if (found == kUsualSeparators.end()) return std::nullopt;
  return *found;
}

}  // namespace infeed::tools
