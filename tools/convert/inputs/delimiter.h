#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <infeed/records/detail/row_scan.h>

/// Delimiters of tables: as people write them, and as a table's rows suggest them.
namespace infeed::tools {

/// Parses the argument of --delimiter: one byte, "tab" or "\\t". Throws invalid_argument.
char parse_delimiter(const std::string& text);
/// Returns the name of a delimiter: "','", "tab".
std::string delimiter_name(char delimiter);

/// Returns a delimiter that gives all rows, the first of which may be a header, the same number of
/// columns, more than one. Used if `format` gives only one column.
std::optional<char> find_other_delimiter(const std::vector<std::string>& rows,
                                         detail::RowFormat format);
/// Returns another delimiter that occurs in the first row.
std::optional<char> find_possible_delimiter(std::string_view first_row, detail::RowFormat format);

}  // namespace infeed::tools
