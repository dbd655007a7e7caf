#include "infeed/records/record_reader.h"

#include <algorithm>
#include <fmt/format.h>
#include <limits>
#include <utility>

#include "infeed/records/files.h"
#include "infeed/records/limits.h"
#include "io/byte_source.h"
#include "io/stream_window.h"
#include "memory/block.h"
#include "tfrecord/framing.h"
#include "tfrecord/record_damage.h"
#include "tfrecord/record_scan.h"
#include "tfrecord/resynchronise.h"

namespace infeed {
namespace {

using detail::FrameState;
using detail::kHeaderBytes;

constexpr std::size_t kBlockBytesMin = 64;

}  // namespace

class RecordReader::State {
 public:
  State(const std::string& file, RecordReaderOptions options)
      : file_(redacted_url(file)),
        options_(checked(std::move(options))),
        pool_(std::make_shared<detail::BlockPool>(file_)),
        opened_(detail::open_source(file, source_options())),
        window_(std::move(opened_.source), pool_, options_.block_bytes, options_.mapped_files),
        search_(options_.record_bytes_max, options_.url.stop) {
    if (opened_.compression == Compression::none && !detail::begins_with_record(opened_.front)) {
      detail::refuse_foreign_format(opened_.front, file);
    }
  }

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
      const FrameState stop = skip_one();
      if (stop == FrameState::whole) {
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

  void continue_at(RecordPosition position) {
    if (position == this->position()) return;
    if (window_.is_seekable()) {
      seek(position);
      return;
    }
    skip(position.record - number_);
    if (position == this->position()) return;
    ended_ = true;
    throw Error(ErrorCode::data_loss, "the file changed while it was read; read it again")
        .at_file(file_);
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

  FrameState skip_one() {
    // The header alone: to fetch the record would read the payload that is to be passed over.
    if (!window_.ensure(kHeaderBytes)) return FrameState::needs_bytes;
    const detail::Frame frame =
        detail::frame_at(window_.data(), window_.size(), options_.record_bytes_max);
    // With a length that is known beforehand a cut is seen before anything is passed over.
    const bool is_behind_window = frame.state == FrameState::needs_bytes &&
                                  window_.remaining_bytes().value_or(0) >= frame.bytes();
    if (!frame.is_whole() && !is_behind_window) return frame.state;
    window_.discard(frame.bytes());
    ++number_;
    return FrameState::whole;
  }

  /// Brings the next record into the window, or gives up what is there instead of it.
  void step_over(FrameState state) {
    detail::Frame frame{state};
    if (state != FrameState::bad_payload) {
      frame = detail::fetch_frame(window_, options_.record_bytes_max);
    }
    switch (frame.state) {
      case FrameState::whole:
        break;
      case FrameState::needs_bytes:
        window_.size() < kHeaderBytes ? end_in_header() : end_in_record(frame);
        break;
      case FrameState::too_long:
        lose(detail::describe_too_long(frame, options_.record_bytes_max), Search::after_first_byte);
        break;
      case FrameState::bad_length:
        lose_header();
        break;
      case FrameState::bad_payload:
        lose_payload();
        break;
    }
  }

  void end_in_header() {
    if (window_.damage()) {
      lose_rest(window_.damage()->message);
    } else if (window_.size() == 0) {
      ended_ = true;
    } else if (stops_like_tensorflow()) {
      window_.consume(window_.size());
      ended_ = true;
    } else {
      lose_rest(detail::describe_cut_header(window_.size()));
    }
  }

  void end_in_record(const detail::Frame& frame) {
    if (window_.damage()) {
      lose(window_.damage()->message, Search::after_first_byte);
      return;
    }
    const std::uint64_t remaining = window_.remaining_bytes().value_or(window_.size());
    const bool can_be = remaining >= frame.bytes();
    lose(detail::describe_cut(frame, can_be ? window_.size() : remaining),
         Search::after_first_byte);
  }

  void lose_header() {
    std::string text = detail::describe_bad_length(window_.data());
    if (number_ == 0 && window_.offset() == 0) {
      text += "; perhaps the file does not hold TFRecords at all";
    }
    lose(std::move(text), Search::after_first_byte);
  }

  void lose_payload() {
    const std::string_view payload =
        detail::frame_at(window_.data(), window_.size()).payload(window_.data());
    lose(detail::describe_bad_payload(
             payload, search_.payload_crc32c(payload, window_.offset() + kHeaderBytes)),
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
    throw detail::lost_record(file_, position(), std::move(message));
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
  std::uint64_t number_ = 0;  // number of the record at the front of the window
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
void RecordReader::continue_at(RecordPosition position) { state_->continue_at(position); }
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
