#include "infeed/records/record_reader.h"

#include <algorithm>
#include <fmt/format.h>
#include <limits>
#include <utility>

#include "infeed/error.h"
#include "infeed/records/files.h"
#include "infeed/records/limits.h"
#include "io/byte_source.h"
#include "io/little_endian.h"
#include "io/stream_window.h"
#include "memory/block.h"
#include "tfrecord/framing.h"
#include "tfrecord/record_scan.h"
#include "tfrecord/resynchronise.h"

namespace infeed {
namespace {

using detail::kFramingBytes;
using detail::kHeaderBytes;
using detail::Stop;

constexpr std::size_t kBlockBytesMin = 64;

std::string count_bytes(std::uint64_t bytes) {
  return fmt::format("{} byte{}", bytes, bytes == 1 ? "" : "s");
}

}  // namespace

class RecordReader::State {
 public:
  State(const std::string& file, RecordReaderOptions options)
      : file_(redacted_url(file)),
        options_(checked(std::move(options))),
        pool_(std::make_shared<detail::BlockPool>(file_)),
        opened_(detail::open_source(file, source_options())),
        window_(std::move(opened_.source), pool_, options_.block_bytes),
        search_(options_.record_bytes_max, options_.url.stop) {}

  std::size_t read(std::span<Record> out) {
    if (out.empty()) return 0;
    while (!ended_) {
      const detail::Scan scan =
          detail::scan_window(window_, out, number_,
                              {options_.verify == Verify::everything, options_.record_bytes_max,
                               search_.is_suspicious(window_) ? &search_ : nullptr});
      number_ += scan.count;
      bytes_hashed_ += scan.bytes_hashed;
      if (scan.count != 0) return scan.count;
      step_over(scan.stop);
    }
    return 0;
  }

  std::uint64_t skip(std::uint64_t count) {
    std::uint64_t skipped = 0;
    while (skipped < count && !ended_) {
      const Stop stop = skip_one();
      if (stop == Stop::none) {
        ++skipped;
      } else {
        step_over(stop);
      }
    }
    return skipped;
  }

  RecordPosition position() const { return {number_, window_.offset()}; }

  void seek(RecordPosition position) {
    if (!window_.is_seekable()) {
      throw Error(
          ErrorCode::failed_precondition,
          fmt::format(
              "cannot jump inside a {} file; read it from the start and skip",
              opened_.compression == Compression::none ? "piped" : to_string(opened_.compression)))
          .at_file(file_);
    }
    window_.seek(position.offset);
    number_ = position.record;
    ended_ = false;
  }

  const std::string& file() const { return file_; }
  Compression compression() const { return opened_.compression; }
  std::optional<std::uint64_t> file_bytes() const { return opened_.file_bytes; }
  const std::vector<DamagedRange>& damaged() const { return damaged_; }
  std::uint64_t bytes_hashed() const { return bytes_hashed_ + search_.bytes_hashed(); }

 private:
  static RecordReaderOptions checked(RecordReaderOptions options) {
    options.block_bytes = std::max(options.block_bytes, kBlockBytesMin);
    options.record_bytes_max = std::min<std::uint64_t>(
        options.record_bytes_max, std::numeric_limits<std::int64_t>::max() / 4);
    return options;
  }
  bool stops_like_tensorflow() const {
    return options_.damage == DamagePolicy::stop_like_tensorflow;
  }

  detail::SourceOptions source_options() const {
    return {.compression = options_.compression,
            .input_block_bytes = options_.block_bytes,
            .trailing = stops_like_tensorflow() ? detail::TrailingStreams::ignore_like_tensorflow
                                                : detail::TrailingStreams::read,
            .url = options_.url};
  }

  Stop skip_one() {
    // The header alone: to fetch the record would read the payload that is to be passed over.
    if (!window_.ensure(kHeaderBytes)) return Stop::needs_bytes;
    const detail::Header header = detail::load_header(window_.data());
    if (!header.is_valid()) return Stop::bad_length;
    // Also keeps the sum below from passing 2^64.
    if (header.length > options_.record_bytes_max) return Stop::needs_bytes;
    const std::uint64_t whole = kFramingBytes + header.length;
    if (whole > window_.size()) {
      // With a length that is known beforehand a cut is seen before anything is passed over.
      const auto remaining = window_.remaining_bytes();
      if (!remaining || *remaining < whole) return Stop::needs_bytes;
    }
    window_.discard(whole);
    ++number_;
    return Stop::none;
  }

  /// Brings the next record into the window, or gives up what is there instead of it.
  void step_over(Stop stop) {
    switch (stop) {
      case Stop::none:
        break;
      case Stop::needs_bytes:
        fetch_record();
        break;
      case Stop::bad_length:
        report_bad_length();
        break;
      case Stop::bad_payload:
        report_bad_payload();
        break;
    }
  }

  void fetch_record() {
    if (!window_.ensure(kHeaderBytes)) {
      if (window_.damage()) {
        lose_rest(window_.damage()->message);
      } else if (window_.size() == 0) {
        ended_ = true;
      } else if (stops_like_tensorflow()) {
        window_.consume(window_.size());
        ended_ = true;
      } else {
        lose_rest(
            fmt::format("record is cut inside its header: {} of {} are there; the file was "
                        "probably not written or copied to its end",
                        window_.size(), count_bytes(kHeaderBytes)));
      }
      return;
    }
    const detail::Header header = detail::load_header(window_.data());
    if (!header.is_valid()) {
      report_bad_length();
      return;
    }
    if (header.length > options_.record_bytes_max) {
      lose(
          fmt::format("record claims {}, more than record_bytes_max ({}); raise it if such records "
                      "are meant to be",
                      count_bytes(header.length), options_.record_bytes_max),
          Search::after_first_byte);
      return;
    }
    const std::uint64_t whole = header.length + kFramingBytes;
    const auto remaining = window_.remaining_bytes();
    const bool can_be = !remaining || *remaining >= whole;
    if (can_be && window_.ensure(whole)) return;
    if (window_.damage()) {
      lose(window_.damage()->message, Search::after_first_byte);
      return;
    }
    lose(
        fmt::format(
            "record is cut: {} of {} are there (a payload of {} and {} around it); the file "
            "was probably not written or copied to its end",
            can_be ? window_.size() : *remaining, count_bytes(whole), header.length, kFramingBytes),
        Search::after_first_byte);
  }

  void report_bad_length() {
    const detail::Header header = detail::load_header(window_.data());
    std::string text = fmt::format(
        "record header is damaged: its length {} has the checksum {:08x}, but {:08x} is stored",
        header.length, header.expected_crc(), header.masked_crc);
    if (number_ == 0 && window_.offset() == 0) {
      text += "; perhaps the file does not hold TFRecords at all";
    }
    lose(std::move(text), Search::after_first_byte);
  }

  void report_bad_payload() {
    const detail::Header header = detail::load_header(window_.data());
    const std::string_view payload(window_.data() + kHeaderBytes, header.length);
    const std::uint32_t crc =
        search_.payload_crc32c(payload, window_.offset() + detail::kHeaderBytes);
    lose(fmt::format("record is damaged: its {} have the checksum {:08x}, but {:08x} is stored",
                     count_bytes(header.length), mask_crc32c(crc),
                     detail::load_little<std::uint32_t>(payload.data() + payload.size())),
         Search::after_record);
  }

  enum class Search { after_first_byte, after_record };

  /// The record at the front is damaged: fails, or goes to the next one.
  void lose(std::string message, Search search) {
    if (options_.damage != DamagePolicy::skip_and_resynchronise) fail(message);
    const std::uint64_t begin = window_.offset();
    if (search != Search::after_record || !detail::step_to_next_header(window_)) {
      search_.resynchronise(window_);
    }
    if (window_.size() == 0 && window_.damage()) {  // then one range tells of both
      const std::string& behind = window_.damage()->message;
      if (message != behind) message += "; and behind it: " + behind;
      ended_ = !window_.resume_behind_damage();
    }
    note(begin, std::move(message));
  }

  /// Nothing behind the front can be read, up to where a damaged stream goes on.
  void lose_rest(std::string message) {
    if (options_.damage != DamagePolicy::skip_and_resynchronise) fail(message);
    const std::uint64_t begin = window_.offset();
    ended_ = !window_.resume_behind_damage();
    note(begin, std::move(message));
  }

  [[noreturn]] void fail(std::string message) {
    ended_ = true;
    if (opened_.compression != Compression::none) {
      message += "; the offset counts decompressed bytes";
    }
    throw Error(ErrorCode::data_loss, std::move(message))
        .at_file(file_)
        .at_offset(window_.offset())
        .at_record(number_);
  }

  void note(std::uint64_t begin, std::string message) {
    if (damaged_.size() == limits::damaged_ranges) {
      fail(fmt::format("more than {} ranges of the file are damaged, and no more are noted: {}",
                       limits::damaged_ranges, message));
    }
    damaged_.push_back({file_, begin, window_.offset(), number_, std::move(message)});
    if (window_.offset() != begin) ++number_;
    if (options_.on_damage) options_.on_damage(damaged_.back());
  }

  const std::string file_;
  const RecordReaderOptions options_;
  std::shared_ptr<detail::BlockPool> pool_;
  detail::OpenedSource opened_;
  detail::StreamWindow window_;
  detail::RecordSearch search_;
  std::uint64_t bytes_hashed_ = 0;
  std::uint64_t number_ = 0;  // of the record at the front of the window
  bool ended_ = false;
  std::vector<DamagedRange> damaged_;
};

RecordReader::RecordReader(const std::string& file, RecordReaderOptions options)
    : state_(std::make_unique<State>(file, std::move(options))) {}
RecordReader::RecordReader(RecordReader&&) noexcept = default;
RecordReader& RecordReader::operator=(RecordReader&&) noexcept = default;
RecordReader::~RecordReader() = default;

std::size_t RecordReader::read(std::span<Record> out) { return state_->read(out); }
bool RecordReader::next(Record& out) { return state_->read({&out, 1}) == 1; }
std::uint64_t RecordReader::skip(std::uint64_t count) { return state_->skip(count); }
RecordPosition RecordReader::position() const { return state_->position(); }
void RecordReader::seek(RecordPosition position) { state_->seek(position); }
const std::string& RecordReader::file() const { return state_->file(); }
Compression RecordReader::compression() const { return state_->compression(); }
std::optional<std::uint64_t> RecordReader::file_bytes() const { return state_->file_bytes(); }
const std::vector<DamagedRange>& RecordReader::damaged() const { return state_->damaged(); }

std::uint64_t RecordReader::bytes_hashed() const { return state_->bytes_hashed(); }

std::uint64_t count_records(const std::string& file, RecordReaderOptions options) {
  RecordReader reader(file, std::move(options));
  return reader.skip(std::numeric_limits<std::uint64_t>::max());
}

}  // namespace infeed
