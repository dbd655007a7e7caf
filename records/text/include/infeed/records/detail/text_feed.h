#pragma once

#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "infeed/records/compression.h"
#include "infeed/records/detail/threads_ahead.h"
#include "infeed/records/record.h"
#include "infeed/records/spare_blocks.h"
#include "infeed/records/url_options.h"

/// Text as it lies in files, cut at the ends of rows but not yet looked into. It is the first step
/// of csv, json_lines and lines, and the input of their parsers, in whatever thread. Not meant to
/// be used directly.
namespace infeed::detail {

struct RowScan;

/// A parser's knowledge of one file (from its header). Immutable.
struct TextLayout {
  virtual ~TextLayout() = default;
};

/// Neighbouring rows of one file.
struct TextPiece {
  Record text;  ///< ends behind a line feed; its number() is that of its first row in the file
  std::size_t rows = 0;
  std::uint64_t line = 1;  ///< number of the line of its first byte
  std::shared_ptr<const TextLayout> layout = nullptr;
};

struct TextRows {
  std::vector<TextPiece> pieces;
  std::size_t rows = 0;

  std::size_t bytes() const;
};

struct TextFeedOptions {
  char delimiter = ',';
  bool is_table = false;           ///< a first line "sep=;" is none of the rows (csv_row.h)
  bool has_quotes = false;         ///< rows follow RFC 4180; else a row is a line
  bool keeps_empty_lines = false;  ///< an empty line is a row
  std::size_t row_bytes_max = std::size_t{16} << 20;  ///< without the line break
  std::size_t block_bytes = std::size_t{256} << 10;
  Compression compression = Compression::automatic;
  UrlOptions url = {};
  /// Called with the file's first row, which is then none of the rows. Empty: there is no header.
  /// An exception that it throws is the file's error.
  std::function<std::shared_ptr<const TextLayout>(std::string_view header)> read_header = {};
  std::shared_ptr<const TextLayout> layout = nullptr;  ///< layout of files without a header
  std::shared_ptr<SpareBlocks> spare_blocks = nullptr;
  ThreadsAhead ahead = {};
};

/// Reads files one after the other.
///
/// Errors of read() and skip() (a file that can't be read, damage, a quote that isn't closed, a row
/// that is too long) cost the rest of the file and come behind all rows before. The next call goes
/// on with the next file. Thread-safety: one thread at a time.
class TextFeed {
 public:
  TextFeed(std::shared_ptr<const std::vector<std::string>> files, TextFeedOptions options);
  ~TextFeed();
  TextFeed(const TextFeed&) = delete;
  TextFeed& operator=(const TextFeed&) = delete;

  /// Reads the next `rows_max` rows (at least 1), from several files where one ends. Gives fewer
  /// only at the end and in front of an error; returns false when there are none.
  bool read(std::size_t rows_max, TextRows& out);
  /// Passes over rows without looking into them, and returns how many: fewer only at the end and in
  /// front of an error.
  std::uint64_t skip(std::uint64_t rows);
  /// Forgets the rest of the file, and the error that stands behind the rows already given.
  void leave_file();

 private:
  struct File;

  template <class Take>
  std::uint64_t pass(std::uint64_t rows_max, Take take);
  bool open_next();
  void begin_file();
  void pass_separator_line();
  void read_header();
  void pass_empty_lines();
  RowScan scan(std::uint64_t rows_max);
  bool fill();
  void end_file();
  [[noreturn]] void refuse_rest(bool in_quotes) const;

  const std::shared_ptr<const std::vector<std::string>> files_;
  const TextFeedOptions options_;
  std::size_t next_file_ = 0;
  std::unique_ptr<File> file_;  ///< null between files
  std::exception_ptr failure_;  ///< to be thrown behind the rows already given
};

}  // namespace infeed::detail
