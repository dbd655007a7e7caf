#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "infeed/count.h"
#include "infeed/records/compression.h"
#include "infeed/records/url_options.h"

/// Why: these are the options that say how tables of text are written (csv.h, json_lines.h).
///
///     infeed::CsvOptions semicolons{.delimiter = ';', .nulls = {"", "NA"}};
///
/// Thread-safety: values.
namespace infeed {

enum class Quotes : std::uint8_t {
  /// A field that begins with a quote goes to the next single one, and may hold delimiters and line
  /// breaks; a quote in it is written twice (RFC 4180). Anywhere else a quote is a character.
  rfc4180,
  none,  ///< a quote is a character everywhere, and a row is a line
};

/// What becomes of a row that can't be read: another number of fields, a cell that is no number.
enum class BadRows : std::uint8_t {
  fail,       ///< its batch becomes an Error that names the first such row, and how many there are
  leave_out,  ///< its batch lacks the row; only one that has no good row is an Error
};

struct CsvOptions {
  char delimiter = ',';
  Quotes quotes = Quotes::rfc4180;
  /// Whether each file's first row names its columns, which are found by name, in any order, and may
  /// be more than are wanted. Without it a row has the schema's columns in their order.
  bool has_header = true;
  /// Cells that mean that there is no value: the schema's default stands in for it (if_missing()),
  /// and where there is none it is an error of the row. In a column of bytes, such a cell is text
  /// like any other unless the column has a default; one in quotes always is.
  std::vector<std::string> nulls = {""};
  BadRows bad_rows = BadRows::fail;
  /// A longer row is damage (a quote that isn't closed); the rest of the file is dropped then.
  Count row_bytes_max = std::size_t{16} << 20;
  Compression compression = Compression::automatic;  ///< gzip and lz4 are told by content
  UrlOptions url = {};                               ///< where files are named by URLs
};

/// Tabs between the fields, and no quotes: text/tab-separated-values.
inline CsvOptions tab_separated(CsvOptions options = {}) {
  options.delimiter = '\t';
  options.quotes = Quotes::none;
  return options;
}

struct JsonLinesOptions {
  BadRows bad_rows = BadRows::fail;
  Count row_bytes_max = std::size_t{16} << 20;       ///< a longer line is damage
  Compression compression = Compression::automatic;  ///< gzip and lz4 are told by content
  UrlOptions url = {};                               ///< where files are named by URLs
};

}  // namespace infeed
