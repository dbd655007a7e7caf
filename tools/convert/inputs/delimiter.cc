#include "convert/inputs/delimiter.h"

#include <algorithm>
#include <fmt/format.h>

#include <infeed/error.h>
#include <infeed/records/detail/csv_row.h>

namespace infeed::tools {
namespace {

constexpr std::string_view kUsualDelimiters = ";\t|,";

/// Returns the number of fields of all rows; 0 if they differ, or one can't be cut.
std::size_t common_field_count(const std::vector<std::string>& rows, detail::RowFormat format) {
  detail::CsvRow cells(format);
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

std::optional<char> find_other_delimiter(const std::vector<std::string>& rows,
                                         detail::RowFormat format) {
  const char given = format.delimiter;
  for (const char delimiter : kUsualDelimiters) {
    if (delimiter == given) continue;
    format.delimiter = delimiter;
    if (common_field_count(rows, format) > 1) return delimiter;
  }
  return std::nullopt;
}

std::optional<char> find_possible_delimiter(std::string_view first_row, detail::RowFormat format) {
  const auto found =
      std::find_if(kUsualDelimiters.begin(), kUsualDelimiters.end(), [&](char delimiter) {
        return delimiter != format.delimiter && first_row.find(delimiter) != first_row.npos;
      });
  if (found == kUsualDelimiters.end()) return std::nullopt;
  return *found;
}

}  // namespace infeed::tools
