#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "convert/inputs/text_rows.h"

namespace infeed::tools {

/// How the rows of a table are cut into fields. A carriage return without a line feed, outside
/// quotes, is an error, as in infeed/records/csv.h: Python's csv, pandas and pyarrow end a row there,
/// so that a character would make other rows than they have.
struct TableFormat {
  char separator = ',';
  Quotes quotes = Quotes::csv;
};

/// Cuts a row into fields. Those with quotes are copied, the rest are views of the row.
class FieldSplitter {
 public:
  explicit FieldSplitter(TableFormat format) : format_(format) {}

  /// Valid until the next call. Throws data_loss when quotes stand where they can't, or a carriage
  /// return outside of them.
  const std::vector<std::string_view>& split(std::string_view row);

 private:
  std::size_t take_quoted(std::string_view row, std::size_t at);

  const TableFormat format_;
  std::vector<std::string_view> fields_;
  std::string unquoted_;
};

/// What --delimiter takes: one byte, "tab" or "\\t". Throws invalid_argument.
char parse_delimiter(const std::string& text);
/// The other way round: "','", "tab".
std::string delimiter_name(char delimiter);

/// A separator by which the rows, of which the first may be a header, would all have the same
/// number of columns, more than one. Asked when `format` gives one column only.
std::optional<char> find_other_separator(const std::vector<std::string>& rows, TableFormat format);
/// One that the first row has at all.
std::optional<char> find_possible_separator(std::string_view first_row, TableFormat format);

}  // namespace infeed::tools
