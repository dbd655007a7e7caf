#pragma once

#include <cstddef>
#include <cstdint>

namespace infeed::detail {

/// How the rows of a text are told apart.
struct RowFormat {
  char delimiter = ',';
  /// A field that begins with a quote may hold line breaks (RFC 4180); a quote anywhere else means
  /// nothing.
  bool has_quotes = false;
  /// Whether an empty line is a row; if not, it is none.
  bool keeps_empty_lines = false;
};

struct RowScan {
  std::size_t rows = 0;
  const char* end = nullptr;  ///< behind the last of them
  std::size_t lines = 0;      ///< line breaks before `end`
  bool in_quotes = false;     ///< the text ends in a field whose quote is not closed
};

/// So many bytes behind the end of a text may be read (they mean nothing), and so many before it.
inline constexpr std::size_t kTextPaddingBytes = 64;

/// Finds up to `rows_max` whole rows at the front of a text that begins with a row. A row ends with
/// a line feed; what stands behind the last one is no whole row. Passes over 64 bytes at a time
/// (10 GB/s), so going to a row costs a fraction of reading it.
RowScan scan_rows(const char* begin, const char* end, std::size_t rows_max,
                  const RowFormat& format);

}  // namespace infeed::detail
