#include "convert/inputs/text_rows.h"

#include <algorithm>
#include <filesystem>
#include <fmt/format.h>
#include <system_error>
#include <utility>

#include <infeed/error.h>
#include <infeed/records/detail/csv_row.h>
#include <infeed/records/detail/data_front.h>

#include "cli/limits.h"
#include "convert/inputs/delimiter.h"

namespace infeed::tools {
namespace {

constexpr std::size_t kRowsBetweenMarksMax = 64;
constexpr std::ptrdiff_t kBytesBetweenMarks = 4096;  // more, if a row is longer
constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";

std::string_view without_line_break(std::string_view row) {
  if (row.ends_with('\n')) row.remove_suffix(1);
  if (row.ends_with('\r')) row.remove_suffix(1);
  return row;
}

/// Returns the bytes of the empty lines at the front, and counts their line breaks.
std::size_t empty_lines(std::string_view text, std::uint64_t& lines) {
  std::size_t at = 0;
  while (true) {
    const std::string_view rest = text.substr(at);
    const std::size_t size = rest.starts_with('\n') ? 1 : rest.starts_with("\r\n") ? 2 : 0;
    if (size == 0) return at;
    at += size;
    ++lines;
  }
}

}  // namespace

struct TextRows::Window {
  std::vector<char> bytes = {};
  std::size_t begin = 0;     ///< place of the next row
  std::size_t end = 0;       ///< end of the bytes that were read
  std::uint64_t offset = 0;  ///< place of bytes[0] in the file

  std::string_view text() const { return {bytes.data() + begin, end - begin}; }
  /// Reads on behind the bytes that are left, which move to the front. Returns false at the end.
  bool fill(const SeekableFile& file) {
    constexpr std::size_t kStepBytes = std::size_t{1} << 20;
    constexpr std::size_t kStepBytesMax = std::size_t{16} << 20;
    offset += begin;
    std::copy(bytes.begin() + static_cast<std::ptrdiff_t>(begin),
              bytes.begin() + static_cast<std::ptrdiff_t>(end), bytes.begin());
    end -= std::exchange(begin, 0);
    // A long row is looked at again from its begin, so more bytes come each time.
    const std::size_t step = std::clamp(end, kStepBytes, kStepBytesMax);
    bytes.resize(std::max(bytes.size(), end + step + 1 + detail::kTextPaddingBytes));
    const std::size_t got = file.read_at(offset + end, std::span(bytes).subspan(end, step));
    end += got;
    return got != 0;
  }
};

TextRows::TextRows(const std::string& file, TextFormat format)
    : file_(file), name_(file_->name()), bytes_(file_->size_bytes()), format_(format.rows) {
  find_rows(format);
}

void TextRows::close() {
  std::error_code no_such_name;
  if (file_ && std::filesystem::equivalent(file_->path(), name_, no_such_name)) file_.reset();
}

void TextRows::read_exactly(std::uint64_t offset, std::span<char> into) const {
  if (file_) {
    file_->read_exactly(offset, into);
    return;
  }
  const SeekableFile opened(name_, File::open_to_read(name_));
  if (opened.size_bytes() != bytes_) {
    throw Error(ErrorCode::data_loss, fmt::format("the file has {} bytes instead of the {} that it "
                                                  "had when it was opened first",
                                                  opened.size_bytes(), bytes_))
        .at_file(name_);
  }
  opened.read_exactly(offset, into);
}

void TextRows::add_mark(std::uint64_t begin, std::uint64_t rows) {
  marks_.push_back({rows_, begin, lines_});
  rows_ += rows;
}

std::size_t TextRows::begin_file(std::string_view begin, bool is_table, bool is_delimiter_given) {
  if (begin.starts_with("\xff\xfe") || begin.starts_with("\xfe\xff")) {
    throw Error(ErrorCode::data_loss,
                "this is UTF-16 text, but UTF-8 is read: 'iconv -f UTF-16 -t UTF-8' converts it")
        .at_file(file());
  }
  detail::refuse_foreign_format(begin.substr(0, detail::kDataFrontBytes), file());
  const std::size_t mark = begin.starts_with(kByteOrderMark) ? kByteOrderMark.size() : 0;
  const auto line = detail::find_separator_line(begin.substr(mark));
  if (!is_table || !line) return mark;
  if (is_delimiter_given && line->delimiter != format_.delimiter) {
    throw Error(ErrorCode::invalid_argument,
                fmt::format("its first line says that {} stands between the columns, but "
                            "--delimiter says {}; leave --delimiter out",
                            delimiter_name(line->delimiter), delimiter_name(format_.delimiter)))
        .at_file(file());
  }
  format_.delimiter = line->delimiter;
  ++lines_;
  return mark + line->bytes;
}

void TextRows::require_row_fits(std::uint64_t begin, std::uint64_t bytes,
                                std::uint64_t line) const {
  if (bytes <= limits::text_row_bytes) return;
  throw Error(ErrorCode::data_loss,
              fmt::format("the row that begins in line {} is longer than {} bytes, which is the "
                          "limit{}",
                          line, limits::text_row_bytes,
                          format_.has_quotes ? "; perhaps a quote in it is not closed" : ""))
      .at_file(file())
      .at_offset(begin);
}

/// Counts the whole rows of the window, those between two marks at once.
void TextRows::count_rows(Window& window) {
  while (true) {
    window.begin += empty_lines(window.text(), lines_);
    const char* const begin = window.bytes.data() + window.begin;
    const char* const end = window.bytes.data() + window.end;
    detail::RowScan found = detail::scan_rows(
        begin, begin + std::min(end - begin, kBytesBetweenMarks), kRowsBetweenMarksMax, format_);
    if (found.rows == 0) found = detail::scan_rows(begin, end, 1, format_);
    const std::uint64_t offset = window.offset + window.begin;
    if (found.rows == 0) {
      require_row_fits(offset, window.text().size(), lines_ + 1);
      return;
    }
    const auto bytes = static_cast<std::size_t>(found.end - begin);
    if (found.rows == 1) require_row_fits(offset, bytes, lines_ + 1);
    add_mark(offset, found.rows);
    lines_ += found.lines;
    window.begin += bytes;
  }
}

void TextRows::find_rows(const TextFormat& given) {
  Window window;
  bool is_begin = true;
  while (window.fill(*file_)) {
    if (std::exchange(is_begin, false)) {
      window.begin = begin_file(window.text(), given.is_table, given.is_delimiter_given);
    }
    count_rows(window);
  }
  if (window.offset + window.end < bytes_) {
    throw Error(
        ErrorCode::data_loss,
        fmt::format("the file became shorter while it was read: nothing is left at {} of the "
                    "{} bytes that it had",
                    window.offset + window.end, bytes_))
        .at_file(file());
  }
  // The last row need not end with a line break. One whose quote isn't closed is a row, too, since
  // reading it says so.
  if (window.text().empty()) return;
  window.bytes[window.end++] = '\n';
  count_rows(window);
  if (!window.text().empty()) add_mark(window.offset + window.begin, 1);
}

void TextRowReader::load(std::size_t mark) {
  const auto& marks = rows_->marks_;
  const std::uint64_t begin = marks[mark].offset;
  const std::uint64_t end = mark + 1 < marks.size() ? marks[mark + 1].offset : rows_->bytes_;
  mark_ = kNoMark;
  bytes_.resize(end - begin);
  rows_->read_exactly(begin, bytes_);
  bytes_ += '\n';  // the last row need not end with one
  const std::size_t size = bytes_.size();
  bytes_.append(detail::kTextPaddingBytes, '\0');
  found_.clear();
  std::uint64_t lines = marks[mark].lines;
  for (std::size_t at = 0; at < size;) {
    at += empty_lines(std::string_view(bytes_).substr(at, size - at), lines);
    const char* const row = bytes_.data() + at;
    const detail::RowScan found = detail::scan_rows(row, bytes_.data() + size, 1, rows_->format_);
    const char* const row_end = found.rows == 0 ? bytes_.data() + size : found.end;
    if (row_end == row) break;
    const auto bytes = static_cast<std::size_t>(row_end - row);
    found_.push_back({without_line_break({row, bytes}), lines + 1});
    lines += found.lines;
    at += bytes;
  }
  mark_ = mark;
}

std::string_view TextRowReader::read(std::uint64_t row) { return find(row).row; }

std::uint64_t TextRowReader::line_of(std::uint64_t row) { return find(row).line; }

const TextRowReader::Found& TextRowReader::find(std::uint64_t row) {
  const auto& marks = rows_->marks_;
  const auto after = std::upper_bound(
      marks.begin(), marks.end(), row,
      [](std::uint64_t wanted, const TextRows::Mark& mark) { return wanted < mark.row; });
  const auto mark = static_cast<std::size_t>(after - marks.begin() - 1);
  if (mark != mark_) load(mark);
  const std::uint64_t place = row - marks[mark].row;
  if (place < found_.size()) return found_[place];
  throw Error(ErrorCode::data_loss, "the file has changed since it was opened")
      .at_file(rows_->file());
}

}  // namespace infeed::tools
