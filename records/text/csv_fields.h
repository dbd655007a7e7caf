#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "infeed/records/text_options.h"
#include "text/row_scan.h"

namespace infeed::detail {

RowFormat row_format(const CsvOptions& options);

/// A field of a row, in text that goes on behind the row by kTextPaddingBytes.
struct CsvField {
  std::string text;
  bool was_quoted = false;
  bool has_lone_return = false;  ///< a CR without LF outside quotes: no reader takes such a row
};

/// For the few rows where speed doesn't matter: headers, samples, messages. `row` may end with its
/// line break. A quote that is followed by something else than a delimiter ends nothing.
/// Throws data_loss when there are more of them than limits::csv_row_fields.
std::vector<CsvField> split_fields(std::string_view row, const RowFormat& format);
/// The same of a header; throws data_loss for a CR without LF, too, which is all that a file has whose
/// lines end with CR.
std::vector<CsvField> split_header(std::string_view header, const RowFormat& format);
/// What an Error says of one.
std::string lone_return_text();
/// How many they would be.
std::size_t count_fields(std::string_view row, const RowFormat& format);

/// Throws invalid_argument for options that can't be.
void check_csv_options(const CsvOptions& options);

}  // namespace infeed::detail
