#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "infeed/records/text_options.h"
#include "text/row_scan.h"

namespace infeed::detail {

RowFormat row_format(const CsvOptions& options);

/// A field of a row.
struct CsvField {
  std::string text;
  bool was_quoted = false;
  bool has_lone_return = false;  ///< a CR without LF outside quotes: no reader takes such a row
};

/// Splits a row where speed doesn't matter: headers, samples, messages. `row` may end with its line
/// break. Text behind a closing quote belongs to the field, up to the delimiter. Throws data_loss
/// for more fields than limits::csv_row_fields.
std::vector<CsvField> split_fields(std::string_view row, const RowFormat& format);
/// Splits a header. Throws data_loss also for a CR without LF: a file whose lines end with CR is
/// all one header.
std::vector<CsvField> split_header(std::string_view header, const RowFormat& format);
/// Returns an Error's text about a CR without LF.
std::string lone_return_text();
/// Returns the number of fields that split_fields() would give.
std::size_t count_fields(std::string_view row, const RowFormat& format);

/// Throws invalid_argument for options that can't work.
void check_csv_options(const CsvOptions& options);

}  // namespace infeed::detail
