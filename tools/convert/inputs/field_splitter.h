#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "convert/inputs/text_rows.h"

namespace infeed::tools {

/// The way in which rows of a table are cut into fields. A carriage return without a line feed,
/// outside quotes, is an error, as in infeed/records/csv.h: Python's csv, pandas and pyarrow end a
/// row there, so the rows would differ from theirs.
struct TableFormat {
  char separator = ',';
  Quotes quotes = Quotes::csv;
};

/// Cuts a row into fields. Those with quotes are copied, the rest are views of the row.
class FieldSplitter {
 public:
  explicit FieldSplitter(TableFormat format) : format_(format) {}

  /// Valid until the next call. Throws data_loss for quotes in a wrong place, or a carriage return
  /// outside of them.
  const std::vector<std::string_view>& split(std::string_view row);

 private:
  std::size_t take_quoted(std::string_view row, std::size_t at);

  const TableFormat format_;
  std::vector<std::string_view> fields_;
  std::string unquoted_;
};

/// Parses the argument of --delimiter: one byte, "tab" or "\\t". Throws invalid_argument.
char parse_delimiter(const std::string& text);
/// Returns the name of a delimiter: "','", "tab".
std::string delimiter_name(char delimiter);

/// Returns a separator that gives all rows, the first of which may be a header, the same number of
/// columns, more than one. Used if `format` gives only one column.
std::optional<char> find_other_separator(const std::vector<std::string>& rows, TableFormat format);
/// Returns another separator that occurs in the first row.
std::optional<char> find_possible_separator(std::string_view first_row, TableFormat format);

}  // namespace infeed::tools
