#include "convert/inputs/delimiter.h"

#include <fmt/format.h>

#include <infeed/error.h>
#include <infeed/records/detail/csv_row.h>

namespace infeed::tools {

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

std::optional<char> find_possible_delimiter(std::string_view first_row, detail::RowFormat format) {
  for (const char delimiter : detail::kUsualDelimiters) {
    if (delimiter != format.delimiter && first_row.find(delimiter) != first_row.npos)
      return delimiter;
  }
  return std::nullopt;
}

}  // namespace infeed::tools
