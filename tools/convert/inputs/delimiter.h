#pragma once

#include <optional>
#include <string>
#include <string_view>

#include <infeed/records/detail/row_scan.h>

/// Delimiters of tables: as people write them, and as a table's rows suggest them.
namespace infeed::tools {

/// Parses the argument of --delimiter: one byte, "tab" or "\\t". Throws invalid_argument.
char parse_delimiter(const std::string& text);
/// Returns the name of a delimiter: "','", "tab".
std::string delimiter_name(char delimiter);

/// Returns another delimiter that occurs in the first row.
std::optional<char> find_possible_delimiter(std::string_view first_row, detail::RowFormat format);

}  // namespace infeed::tools
