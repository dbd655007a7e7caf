#include "infeed/records/detail/text_feed.h"

#include <algorithm>
#include <cstring>
#include <fmt/format.h>
#include <optional>

#include "infeed/error.h"
#include "infeed/records/detail/csv_row.h"
#include "infeed/records/detail/row_scan.h"
#include "infeed/records/files.h"
#include "io/byte_source.h"
#include "memory/block.h"
#include "text/text_plan.h"

namespace infeed::detail {
namespace {

constexpr std::size_t kTextPageBytes = 4096;
constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";

char* at_page(char* at) {
  const auto address = reinterpret_cast<std::uintptr_t>(at);
  return at + (kTextPageBytes - address % kTextPageBytes) % kTextPageBytes;
}

std::size_t whole_pages(std::size_t bytes) {
  return (bytes + kTextPageBytes - 1) / kTextPageBytes * kTextPageBytes;
}

/// Returns the bytes of the empty line that `text` begins with; 0 if it begins with none. `text`
/// begins a line.
std::size_t empty_line_bytes(std::string_view text) {
  if (text.starts_with('\n')) return 1;
  return text.starts_with("\r\n") ? 2 : 0;
}

/// Returns the bytes of a row, or of its front, without its line break and without empty lines
/// before it.
std::size_t row_bytes(std::string_view text) {
  while (const std::size_t empty = empty_line_bytes(text)) text.remove_prefix(empty);
  if (text.ends_with('\n')) text.remove_suffix(1);
  if (text.ends_with('\r')) text.remove_suffix(1);
  return text.size();
}

void require_utf8_text(std::string_view begin) {
  const bool is_utf16 = begin.starts_with("\xff\xfe") || begin.starts_with("\xfe\xff");
  if (!is_utf16) return;
  throw Error(ErrorCode::data_loss,
              "this is UTF-16 text, but UTF-8 is read: 'iconv -f UTF-16 -t UTF-8' converts it");
}

}  // namespace

std::size_t TextRows::bytes() const {
  std::size_t total = pieces.capacity() * sizeof(TextPiece);
  for (const TextPiece& piece : pieces) total += piece.text.size();
  return total;
}

/// The file that is being read, and its part in memory.
struct TextFeed::File {
  File(const std::string& name_given, const TextFeedOptions& options)
      : name(redacted_url(name_given)),
        pool(std::make_shared<BlockPool>(name, FreeBlocks{.blocks_max = 16}, options.spare_blocks)),
        source(open_data_source(
                   name_given,
                   {.compression = options.compression, .url = options.url, .ahead = options.ahead})
                   .source) {}

  std::string_view text() const { return {at, static_cast<std::size_t>(end - at)}; }
  std::uint64_t offset() const {
    return block->stream_offset + static_cast<std::uint64_t>(at - block->data);
  }

  const std::string name;
  const std::shared_ptr<BlockPool> pool;
  const std::unique_ptr<ByteSource> source;
  std::shared_ptr<const TextLayout> layout;
  BlockReference block;
  const char* at = nullptr;   ///< next byte in the block
  const char* end = nullptr;  ///< end of the bytes that were read
  std::uint64_t bytes_read = 0;
  std::uint64_t line = 1;
  std::uint64_t row = 0;
  bool is_read = false;         ///< all of it lies in the block or was handed out
  std::optional<Error> damage;  ///< to be thrown behind the bytes that were read
};

TextFeed::TextFeed(std::shared_ptr<const std::vector<std::string>> files, TextFeedOptions options)
    : files_(std::move(files)), options_(std::move(options)) {}

TextFeed::~TextFeed() = default;

bool TextFeed::read(std::size_t rows_max, TextRows& out) {
  out.pieces.clear();
  out.rows = pass(rows_max, [&out](File& file, const RowScan& found) {
    file.block->references.fetch_add(1, std::memory_order_relaxed);
    const std::string_view text(file.at, static_cast<std::size_t>(found.end - file.at));
    out.pieces.push_back(
        {Record::adopt(file.block.get(), text, file.row), found.rows, file.line, file.layout});
  });
  return out.rows != 0;
}

std::uint64_t TextFeed::skip(std::uint64_t rows) {
  return pass(rows, [](File&, const RowScan&) {});
}

void TextFeed::leave_file() {
  failure_ = nullptr;
  end_file();
}

template <class Take>
std::uint64_t TextFeed::pass(std::uint64_t rows_max, Take take) {
  std::uint64_t passed = 0;
  while (passed < rows_max && failure_ == nullptr) {
    try {
      if (!open_next()) break;
      const RowScan found = scan(rows_max - passed);
      if (found.rows != 0) {
        take(*file_, found);
        passed += found.rows;
        file_->at = found.end;
        file_->line += found.lines;
        file_->row += found.rows;
      } else if (!fill()) {
        if (found.in_quotes) refuse_rest(true);
        end_file();
      }
    } catch (...) {
      failure_ = std::current_exception();
    }
  }
  if (failure_ != nullptr && passed == 0) {
    const std::exception_ptr failure = std::exchange(failure_, nullptr);
    if (file_ != nullptr) end_file();
    std::rethrow_exception(failure);
  }
  return passed;
}

/// Opens the next file if none is open. Returns false when there is none. An Error names the file
/// from here on.
bool TextFeed::open_next() {
  if (file_ != nullptr) return true;
  if (next_file_ == files_->size()) return false;
  const std::string& name = (*files_)[next_file_++];
  file_ = std::make_unique<File>(name, options_);
  begin_file();
  return true;
}

void TextFeed::begin_file() {
  fill();
  const std::string_view begin = file_->text();
  try {
    require_utf8_text(begin);
    if (begin.starts_with(kByteOrderMark)) file_->at += kByteOrderMark.size();
    if (options_.is_table) pass_separator_line();
    file_->layout = options_.layout;
    if (options_.read_header) read_header();
  } catch (Error& error) {
    if (error.file().empty()) error.at_file(file_->name);
    throw;
  }
}

void TextFeed::pass_separator_line() {
  const auto line = find_separator_line(file_->text());
  if (!line) return;
  if (line->delimiter != options_.delimiter) {
    throw Error(
        ErrorCode::invalid_argument,
        fmt::format("the first line says that the fields are delimited by {}, but {} is "
                    "given: {{.delimiter = {}}} reads the file",
                    quoted_text({&line->delimiter, 1}), quoted_text({&options_.delimiter, 1}),
                    quoted_text({&line->delimiter, 1})));
  }
  file_->at += line->bytes;
  ++file_->line;
}

void TextFeed::read_header() {
  while (true) {
    const RowScan found = scan(1);
    if (found.rows != 0) {
      const std::string_view header(file_->at, static_cast<std::size_t>(found.end - file_->at));
      file_->layout = options_.read_header(header);
      file_->at = found.end;
      file_->line += found.lines;
      return;
    }
    if (fill()) continue;
    if (found.in_quotes) refuse_rest(true);
    throw Error(ErrorCode::data_loss, "the file is empty; not even a header is there");
  }
}

/// Passes over empty lines, which are no part of the row behind them: only that row counts for
/// row_bytes_max.
void TextFeed::pass_empty_lines() {
  if (options_.keeps_empty_lines) return;
  File& file = *file_;
  while (const std::size_t empty = empty_line_bytes(file.text())) {
    file.at += empty;
    ++file.line;
  }
}

/// Returns the whole rows at the front, up to one that is too long. Throws where the first is.
RowScan TextFeed::scan(std::uint64_t rows_max) {
  pass_empty_lines();
  const RowFormat format{options_.delimiter, options_.has_quotes, options_.keeps_empty_lines};
  const File& file = *file_;
  const RowScan found = scan_rows(file.at, file.end, rows_max, format);
  // None can be too long where all together are not, which is the usual case.
  if (static_cast<std::size_t>(found.end - file.at) <= options_.row_bytes_max) return found;
  RowScan fitting{.end = file.at};
  while (fitting.rows < found.rows) {
    const RowScan next = scan_rows(fitting.end, file.end, 1, format);
    if (row_bytes({fitting.end, static_cast<std::size_t>(next.end - fitting.end)}) >
        options_.row_bytes_max) {
      if (fitting.rows == 0) refuse_rest(false);
      return fitting;
    }
    fitting.rows += next.rows;
    fitting.lines += next.lines;
    fitting.end = next.end;
  }
  return fitting;
}

/// Reads on behind the bytes in memory, which are moved to the front of another block. Returns
/// false at the end. The bytes lie as in their pages of the file; otherwise the system's copy takes
/// several times as long.
bool TextFeed::fill() {
  File& file = *file_;
  if (file.damage) throw Error(*file.damage);
  if (file.is_read) return false;
  const auto kept = static_cast<std::size_t>(file.end - file.at);
  if (row_bytes(file.text()) > options_.row_bytes_max) refuse_rest(false);
  const std::size_t lead = whole_pages(kept + kTextPaddingBytes);
  const std::size_t room = whole_pages(std::max(options_.block_bytes, kept));
  BlockReference next(file.pool->take(kTextPageBytes + lead + room + 2 * kTextPaddingBytes));
  char* const body = at_page(next->data) + lead;
  if (kept != 0) std::memcpy(body - kept, file.at, kept);
  std::size_t got = 0;
  try {
    while (got < room) {
      const std::size_t more = file.source->read({body + got, room - got});
      if (more == 0) break;
      got += more;
    }
  } catch (const StreamDamage& damage) {
    file.damage = Error(ErrorCode::data_loss, damage.message).at_file(file.name);
    file.damage->at_offset(file.bytes_read + got);
  } catch (const Error& error) {
    if (got == 0) throw;
    file.damage = error;
  }
  next->stream_offset = file.bytes_read - static_cast<std::uint64_t>(body - next->data);
  file.bytes_read += got;
  file.is_read = got < room && !file.damage;
  file.at = body - kept;
  char* end = body + got;
  // The last row need not end with a line feed, but is easier to read when it does.
  if (file.is_read && end != file.at && end[-1] != '\n') *end++ = '\n';
  std::memset(end, 0, kTextPaddingBytes);
  file.end = end;
  file.block = std::move(next);
  return true;
}

void TextFeed::end_file() { file_.reset(); }

void TextFeed::refuse_rest(bool in_quotes) const {
  const File& file = *file_;
  const auto where = [&file](Error error) {
    return std::move(error).at_file(file.name).at_offset(file.offset()).at_record(file.row);
  };
  if (in_quotes) {
    throw where(Error(ErrorCode::data_loss,
                      fmt::format("a quote that opens a field in the row of line {} is not closed "
                                  "before the file ends; close it, or, if quotes mean nothing in "
                                  "this file, read it with {{.quotes = infeed::Quotes::none}}",
                                  file.line)));
  }
  if (options_.keeps_empty_lines) {  // as lines() and its option call it
    throw where(Error(ErrorCode::data_loss,
                      fmt::format("line {} is longer than {} bytes; line_bytes_max is the limit",
                                  file.line, options_.row_bytes_max)));
  }
  throw where(Error(
      ErrorCode::data_loss,
      fmt::format("the row that begins in line {} is longer than {} bytes{}; row_bytes_max is the "
                  "limit",
                  file.line, options_.row_bytes_max,
                  options_.has_quotes ? ": perhaps a quote in it is not closed" : "")));
}

}  // namespace infeed::detail
