#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "infeed/count.h"
#include "infeed/records/compression.h"
#include "infeed/records/url_options.h"

/// Why: these options say how tables of text are written (csv.h, json_lines.h).
///
///     infeed::CsvOptions semicolons{.delimiter = ';', .nulls = {"", "NA"}};
///
/// Thread-safety: values.
namespace infeed {

enum class Quotes : std::uint8_t {
  /// A field that begins with a quote ends at the next single quote, and may hold delimiters and
  /// line breaks; a quote in it is written twice (RFC 4180). Anywhere else a quote is a character.
  rfc4180,
  none,  ///< a quote is a character everywhere, and a row is a line
};

/// Treatment of rows that can't be read: another number of fields, a cell that is no number.
enum class BadRows : std::uint8_t {
  fail,       ///< its batch becomes an Error with the first bad row and the number of them
  leave_out,  ///< its batch lacks the row; a batch without a good row is an Error
};

struct CsvOptions {
  char delimiter = ',';
  Quotes quotes = Quotes::rfc4180;
  /// If true, each file's first row names its columns. They are found by name, in any order, and
  /// there may be more than are wanted. If false, a row has the schema's columns in their order.
  bool has_header = true;
  /// Cells that hold no value: the schema's default stands in for them (if_missing()), and without
  /// one the row is an error. In a column of bytes such a cell is plain text unless the column has
  /// a default. A cell in quotes is always text there.
  std::vector<std::string> nulls = {""};
  BadRows bad_rows = BadRows::fail;
  /// Most bytes of a row. A longer row is damage (a quote that isn't closed), and the rest of its
  /// file is dropped.
  Count row_bytes_max = std::size_t{16} << 20;
  Compression compression =
      Compression::automatic;  ///< gzip, zstd and lz4 are recognised by content
  UrlOptions url = {};         ///< for files named by URLs
};

/// Sets tabs between the fields and no quotes: text/tab-separated-values.
inline CsvOptions tab_separated(CsvOptions options = {}) {
  options.delimiter = '\t';
  options.quotes = Quotes::none;
  return options;
}

struct JsonLinesOptions {
  BadRows bad_rows = BadRows::fail;
  Count row_bytes_max = std::size_t{16} << 20;  ///< a longer line is damage
  Compression compression =
      Compression::automatic;  ///< gzip, zstd and lz4 are recognised by content
  UrlOptions url = {};         ///< for files named by URLs
};

}  // namespace infeed
