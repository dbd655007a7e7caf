#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <infeed/records/seekable_file.h>

/// Why: rows of text have no fixed places, and a list of all of them would not fit into memory for
/// large tables. One pass notes where every 64th row begins (or one every 4 KiB), and a reader
/// finds the others from there.
namespace infeed::tools {

enum class Quotes {
  none,  ///< a row ends at a line break
  csv,   ///< a field that begins with a quote may hold line breaks
};

/// The non-empty rows of one file. Thread-safety: const access from any number of threads at once.
class TextRows {
 public:
  /// Reads the file once. `separator` matters only with quotes.
  TextRows(const std::string& file, Quotes quotes, char separator);

  std::uint64_t size() const { return rows_; }
  const std::string& file() const { return file_.name(); }

 private:
  friend class TextRowReader;
  struct Mark {
    std::uint64_t row;
    std::uint64_t offset;
    std::uint64_t lines;  ///< line breaks before it
  };
  /// Follows rows through bytes that come in pieces.
  class Splitter {
   public:
    Splitter(Quotes quotes, char separator) : quotes_(quotes), separator_(separator) {}
    /// Returns the end of the row that goes on at `bytes[from]`: just behind its line break. npos:
    /// it goes on in the next piece.
    std::size_t find_end(std::string_view bytes, std::size_t from);
    /// Line breaks passed so far, those inside quotes too.
    std::uint64_t lines() const { return lines_; }

   private:
    enum class Place { field_begin, in_field, in_quotes, behind_quote };
    const Quotes quotes_;
    const char separator_;
    Place place_ = Place::field_begin;
    std::uint64_t lines_ = 0;
  };
  /// Throws if the file begins like one of another encoding.
  void require_utf8(std::string_view begin) const;
  /// Throws if the row is too long; `line` is the line in which it begins.
  void require_row_fits(std::uint64_t begin, std::uint64_t end, std::uint64_t line) const;
  void find_rows();
  void count_row(std::uint64_t begin, std::uint64_t lines);

  const SeekableFile file_;
  const Quotes quotes_;
  const char separator_;
  std::uint64_t rows_ = 0;
  std::vector<Mark> marks_;
};

/// One thread's place in rows.
class TextRowReader {
 public:
  explicit TextRowReader(const TextRows& rows) : rows_(rows) {}
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

  const TextRows& rows_;
  std::size_t mark_ = ~std::size_t{0};
  std::string bytes_;
  std::vector<Found> found_;
};

}  // namespace infeed::tools
