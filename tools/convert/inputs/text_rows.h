#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <infeed/records/detail/row_scan.h>
#include <infeed/records/seekable_file.h>

/// Why: rows of text have no fixed places, and a list of all of them would not fit into memory for
/// large tables. One pass notes where every 64th row begins (or one every 4 KiB), and a reader
/// finds the others from there.
namespace infeed::tools {

/// The rules by which a text is cut into rows.
struct TextFormat {
  detail::RowFormat rows = {};
  bool is_table = false;            ///< its first line may be "sep=;", which names the delimiter
  bool is_delimiter_given = false;  ///< by the user; such a line must then agree
};

/// The non-empty rows of one file. Thread-safety: const access from any number of threads at once.
class TextRows {
 public:
  /// Reads the file once.
  TextRows(const std::string& file, TextFormat format);
  /// Closes the file if its name opens it again, which each reading does from now on. Copies of
  /// compressed files and of URLs stay open.
  void close();

  std::uint64_t size() const { return rows_; }
  const std::string& file() const { return name_; }
  /// Returns the rules by which the rows were cut: a table's delimiter may stand in its first line.
  const detail::RowFormat& format() const { return format_; }

 private:
  friend class TextRowReader;
  struct Mark {
    std::uint64_t row;
    std::uint64_t offset;
    std::uint64_t lines;  ///< line breaks before it
  };
  /// The bytes of the file that are looked at, from the begin of a row on.
  struct Window;
  void read_exactly(std::uint64_t offset, std::span<char> into) const;
  /// Passes over what may stand before the first row, and returns its bytes.
  std::size_t begin_file(std::string_view begin, bool is_table, bool is_delimiter_given);
  /// Throws if the row is too long; `line` is the line in which it begins.
  void require_row_fits(std::uint64_t begin, std::uint64_t bytes, std::uint64_t line) const;
  void find_rows(const TextFormat& given);
  void count_rows(Window& window);
  /// Adds rows, of which the first begins there.
  void add_mark(std::uint64_t begin, std::uint64_t rows);

  std::optional<SeekableFile> file_;
  const std::string name_;
  const std::uint64_t bytes_;
  detail::RowFormat format_;
  std::uint64_t rows_ = 0;
  std::uint64_t lines_ = 0;  ///< line breaks passed so far
  std::vector<Mark> marks_;
};

/// One thread's place in rows.
class TextRowReader {
 public:
  explicit TextRowReader(const TextRows& rows) : rows_(&rows) {}
  /// Goes on with another file's rows; it keeps its memory.
  void turn_to(const TextRows& rows) {
    if (&rows == rows_) return;
    rows_ = &rows;
    mark_ = kNoMark;
  }
  /// Returns the row without its line break; valid until the next call.
  std::string_view read(std::uint64_t row);
  /// Returns the line of the file in which the row begins, from 1.
  std::uint64_t line_of(std::uint64_t row);

 private:
  struct Found {
    std::string_view row;
    std::uint64_t line;
  };
  const Found& find(std::uint64_t row);
  void load(std::size_t mark);

  static constexpr std::size_t kNoMark = ~std::size_t{0};
  const TextRows* rows_;
  std::size_t mark_ = kNoMark;
  std::string bytes_;  ///< with the bytes behind them that scan_rows() looks at
  std::vector<Found> found_;
};

}  // namespace infeed::tools
