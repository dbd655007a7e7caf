#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "infeed/records/detail/row_scan.h"
#include "infeed/records/text_options.h"

/// Rows of tables cut into their cells, where no schema says what is wanted: headers, samples,
/// `infeed convert`. The rules are those of csv's parser. Not meant to be used directly.
namespace infeed::detail {

struct CsvField {
  std::string_view text;  ///< without the quotes around it
  bool was_quoted = false;
};

class CsvRow {
 public:
  explicit CsvRow(RowFormat format) : format_(format) {}

  /// Cuts a row, which may end with its line break. The fields are valid until the next call.
  /// Throws data_loss for quotes in a wrong place, for a carriage return without a line feed
  /// outside of them, and for more fields than limits::csv_row_fields.
  const std::vector<CsvField>& split(std::string_view row) &;

 private:
  const RowFormat format_;
  std::string text_;  ///< a copy of the row, with the bytes behind it that searches look at
  std::vector<CsvField> fields_;
};

/// Returns the names in a header, where all columns are taken and each costs hundreds of bytes. Throws
/// resource_exhausted for more than limits::json_columns.
std::vector<std::string> column_names(const std::vector<CsvField>& header);

RowFormat row_format(const CsvOptions& options);

inline constexpr std::string_view kUsualDelimiters = ";\t|,";
/// Returns a delimiter that gives all rows, the first of which may be a header, the same number of
/// columns, more than one. Used if `format` gives only one column.
std::optional<char> find_other_delimiter(const std::vector<std::string>& rows, RowFormat format);
/// Counts the fields of the row at `row`, which may be wrong in any way. The text goes to `end`.
std::size_t count_fields(const char* row, const char* end, const RowFormat& format);
/// Returns an Error's text about a CR without LF.
std::string lone_return_text();
/// Returns an Error's text about the character behind a closing quote.
std::string behind_quote_text(char found, char delimiter);

/// The first line "sep=;" by which spreadsheets say what delimits the fields.
struct SeparatorLine {
  char delimiter;
  std::size_t bytes;  ///< with the line break
};
/// Returns the line if a file (behind its byte order mark) begins with one.
std::optional<SeparatorLine> find_separator_line(std::string_view begin);

/// Tells whether a header seems to be a row like those below it.
enum class HeaderGuess : std::uint8_t {
  names,
  rising_numbers,  ///< whole numbers in ascending order, as years: names, or a row
  row,             ///< the columns of numbers have numbers for names
};
HeaderGuess guess_header(const std::vector<std::string>& header,
                         const std::vector<bool>& has_numbers_below);

/// Throws invalid_argument for options that can't work.
void check_csv_options(const CsvOptions& options);

}  // namespace infeed::detail
