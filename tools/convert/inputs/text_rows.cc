#include "convert/inputs/text_rows.h"

#include <algorithm>
#include <fmt/format.h>

#include <infeed/error.h>
#include <infeed/records/detail/data_front.h>
#include <infeed/records/page_buffer.h>

#include "cli/limits.h"

namespace infeed::tools {
namespace {

constexpr std::uint64_t kRowsBetweenMarksMax = 64;
constexpr std::uint64_t kBytesBetweenMarks = 4096;
constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";

std::string_view without_line_break(std::string_view row) {
  if (row.ends_with('\n')) row.remove_suffix(1);
  if (row.ends_with('\r')) row.remove_suffix(1);
  return row;
}

}  // namespace

std::size_t TextRows::Splitter::find_end(std::string_view bytes, std::size_t from) {
  if (quotes_ == Quotes::none) {
    const std::size_t end = bytes.find('\n', from);
    if (end == std::string_view::npos) return end;
    ++lines_;
    return end + 1;
  }
  if (place_ == Place::field_begin || place_ == Place::in_field) {
    // Most rows have no quote: two calls of memchr replace a step a byte.
    const std::size_t end = bytes.find('\n', from);
    const std::string_view row = bytes.substr(from, end - from);
    if (end != std::string_view::npos && row.find('"') == std::string_view::npos) {
      place_ = Place::field_begin;
      ++lines_;
      return end + 1;
    }
  }
  for (std::size_t i = from; i < bytes.size(); ++i) {
    const char c = bytes[i];
    if (c == '\n') ++lines_;
    if (place_ == Place::in_quotes) {
      if (c == '"') place_ = Place::behind_quote;
    } else if (c == '\n') {
      place_ = Place::field_begin;
      return i + 1;
    } else if (c == separator_) {
      place_ = Place::field_begin;
    } else if (c == '"' && place_ != Place::in_field) {
      place_ = Place::in_quotes;  // opens a field, or is the second of a pair
    } else {
      place_ = Place::in_field;
    }
  }
  return std::string_view::npos;
}

TextRows::TextRows(const std::string& file, Quotes quotes, char separator)
    : file_(file), quotes_(quotes), separator_(separator) {
  find_rows();
}

void TextRows::count_row(std::uint64_t begin, std::uint64_t lines) {
  if (marks_.empty() || rows_ - marks_.back().row >= kRowsBetweenMarksMax ||
      begin - marks_.back().offset >= kBytesBetweenMarks) {
    marks_.push_back({rows_, begin, lines});
  }
  ++rows_;
}

void TextRows::require_utf8(std::string_view begin) const {
  if (!begin.starts_with("\xff\xfe") && !begin.starts_with("\xfe\xff")) return;
  throw Error(ErrorCode::data_loss,
              "this is UTF-16 text, but UTF-8 is read: 'iconv -f UTF-16 -t UTF-8' converts it")
      .at_file(file());
}

void TextRows::require_row_fits(std::uint64_t begin, std::uint64_t end, std::uint64_t line) const {
  if (end - begin <= limits::text_row_bytes) return;
  throw Error(ErrorCode::data_loss,
              fmt::format("the row that begins in line {} is longer than {} bytes, which is the "
                          "limit{}",
                          line, limits::text_row_bytes,
                          quotes_ == Quotes::none ? "" : "; perhaps a quote in it is not closed"))
      .at_file(file())
      .at_offset(begin);
}

void TextRows::find_rows() {
  Splitter splitter(quotes_, separator_);
  constexpr std::size_t kStepBytes = std::size_t{1} << 20;
  const PageBuffer step(kStepBytes);
  std::uint64_t row_begin = 0;
  std::uint64_t lines_before = 0;
  // Pieces of the row so far that hold more than line breaks; 0: the row is empty.
  std::uint64_t visible = 0;
  std::uint64_t offset = 0;
  const auto end_row = [&](std::uint64_t end) {
    if (visible > 0) count_row(row_begin, lines_before);
    row_begin = end;
    lines_before = splitter.lines();
    visible = 0;
  };
  while (const std::size_t got = file_.read_at(offset, step)) {
    const std::string_view bytes(step.data(), got);
    if (offset == 0) {
      require_utf8(bytes);
      detail::refuse_foreign_format(bytes.substr(0, detail::kDataFrontBytes), file());
    }
    std::size_t at = offset == 0 && bytes.starts_with(kByteOrderMark) ? kByteOrderMark.size() : 0;
    if (at != 0) row_begin = at;
    while (at < got) {
      const std::size_t end = splitter.find_end(bytes, at);
      const std::size_t piece_end = end == std::string_view::npos ? got : end;
      const std::string_view piece = bytes.substr(at, piece_end - at);
      if (piece.find_first_not_of("\r\n") != std::string_view::npos) ++visible;
      require_row_fits(row_begin, offset + piece_end, lines_before + 1);
      if (end != std::string_view::npos) end_row(offset + end);
      at = piece_end;
    }
    offset += got;
  }
  if (offset < file_.size_bytes()) {
    throw Error(
        ErrorCode::data_loss,
        fmt::format("the file became shorter while it was read: nothing is left at {} of the "
                    "{} bytes that it had",
                    offset, file_.size_bytes()))
        .at_file(file());
  }
  end_row(offset);
}

void TextRowReader::load(std::size_t mark) {
  const auto& marks = rows_.marks_;
  const std::uint64_t begin = marks[mark].offset;
  const std::uint64_t end =
      mark + 1 < marks.size() ? marks[mark + 1].offset : rows_.file_.size_bytes();
  mark_ = ~std::size_t{0};
  bytes_.resize(end - begin);
  rows_.file_.read_exactly(begin, bytes_);
  found_.clear();
  TextRows::Splitter splitter(rows_.quotes_, rows_.separator_);
  for (std::size_t at = 0; at < bytes_.size();) {
    const std::uint64_t line = marks[mark].lines + splitter.lines() + 1;
    const std::size_t row_end = std::min(splitter.find_end(bytes_, at), bytes_.size());
    const auto row = without_line_break(std::string_view(bytes_).substr(at, row_end - at));
    if (row.find_first_not_of("\r\n") != std::string_view::npos) found_.push_back({row, line});
    at = row_end;
  }
  mark_ = mark;
}

std::string_view TextRowReader::read(std::uint64_t row) { return find(row).row; }

std::uint64_t TextRowReader::line_of(std::uint64_t row) { return find(row).line; }

const TextRowReader::Found& TextRowReader::find(std::uint64_t row) {
  const auto& marks = rows_.marks_;
  const auto after = std::upper_bound(
      marks.begin(), marks.end(), row,
      [](std::uint64_t wanted, const TextRows::Mark& mark) { return wanted < mark.row; });
  const auto mark = static_cast<std::size_t>(after - marks.begin() - 1);
  if (mark != mark_) load(mark);
  const std::uint64_t place = row - marks[mark].row;
  if (place < found_.size()) return found_[place];
  throw Error(ErrorCode::data_loss, "the file has changed since it was opened")
      .at_file(rows_.file());
}

}  // namespace infeed::tools
