#include "infeed/records/record_writer.h"

#include <algorithm>
#include <cstring>
#include <fmt/format.h>
#include <utility>

#include "codec/deflater.h"
#include "codec/flush_points.h"
#include "codec/lz4_file.h"
#include "infeed/error.h"
#include "infeed/records/detail/record_frame.h"
#include "io/file_ends.h"
#include "io/little_endian.h"
#include "tfrecord/framing.h"

namespace infeed {
namespace {

constexpr std::size_t kBufferBytesMin = std::size_t{256} << 10;
// A file is written in whole buffers, records across their borders: in pieces of 112 KiB at places
// that are no multiple of a page the system takes half as long again for the same bytes.
constexpr std::size_t kBufferStepBytes = std::size_t{4} << 10;

}  // namespace

class RecordWriter::State {
 public:
  State(std::string file, const RecordWriterOptions& options)
      : output_(std::move(file), options.existing, options.durability),
        buffer_(options.compression == Compression::lz4
                    ? detail::kLz4BlockBytes
                    : std::max(options.buffer_bytes, kBufferBytesMin) / kBufferStepBytes *
                          kBufferStepBytes),
        flush_point_bytes_(options.flush_point_bytes),
        durability_(options.durability),
        is_indexed_(options.index),
        is_summed_(options.file_sum) {
    require_options_fit(options);
    if (is_summed_) output_.sum_what_is_written();
    constexpr int kUsualLevel = 1;
    const int level = options.compression_level.value_or(kUsualLevel);
    switch (options.compression) {
      case Compression::none:
        break;
      case Compression::gzip:
      case Compression::zlib:
        deflater_ = detail::make_deflater(options.compression, level,
                                          [this](std::string_view bytes) { output_.write(bytes); });
        break;
      case Compression::lz4:
        lz4_.emplace(level, [this](std::string_view bytes) { output_.write(bytes); });
        break;
      case Compression::automatic:
      case Compression::zstd:
        throw Error(ErrorCode::invalid_argument,
                    fmt::format("compression '{}' is for reading; choose none, gzip, zlib or lz4 "
                                "to write",
                                to_string(options.compression)))
            .at_file(output_.name());
    }
  }

  void write(std::string_view bytes) {
    require_open("write");
    if (flush_point_bytes_ != 0 &&
        position_.offset - flush_points_.back().stream_offset >= flush_point_bytes_) {
      flush();
      guarded([this] { put_flush_point(); });
    }
    const std::size_t framed_bytes = detail::kFramingBytes + bytes.size();
    if (lz4_ && framed_bytes > room()) flush();  // a block holds whole records
    if (framed_bytes <= room()) {
      store(bytes);
    } else if (lz4_) {
      write_blocks_of(bytes);
    } else {
      store_across(bytes);
    }
    ++position_.record;
    position_.offset += detail::kFramingBytes + bytes.size();
    if (is_indexed_) index_.offsets.push_back(position_.offset);
  }

  void close() {
    require_open("close");
    phase_ = Phase::failed;  // until it is done
    flush();
    if (flush_point_bytes_ != 0) put_flush_point();
    if (deflater_) deflater_->finish();
    if (lz4_) lz4_->finish();
    output_.commit();
    phase_ = Phase::closed;
    if (is_indexed_) {
      const auto file = detail::open_input_file(output_.name());
      index_.ends_crc = detail::crc_of_ends(*file, detail::require_regular(*file));
    }
    // Only now: a file of points is nothing without its data.
    if (flush_point_bytes_ != 0) {
      detail::write_flush_points(flush_points_, output_.name(), durability_);
    }
  }

  void discard() noexcept {
    if (phase_ != Phase::closed) phase_ = Phase::discarded;
    output_.discard();
  }

  const RecordIndex& index() const {
    require_closed_with(is_indexed_, "index");
    return index_;
  }
  FileSum file_sum() const {
    require_closed_with(is_summed_, "file_sum");
    return output_.sum();
  }
  RecordPosition position() const { return position_; }
  const std::string& file() const { return output_.name(); }

 private:
  enum class Phase { open, failed, closed, discarded };

  void require_options_fit(const RecordWriterOptions& options) const {
    const auto refuse = [this](std::string what) {
      throw Error(ErrorCode::invalid_argument, what).at_file(output_.name());
    };
    const auto compression = to_string(options.compression);
    if (options.flush_point_bytes != 0 && options.compression != Compression::gzip) {
      refuse(fmt::format("flush points are for gzip, but the compression is {}", compression));
    }
    if (options.compression_level && options.compression == Compression::none) {
      refuse("compression_level is for gzip, zlib and lz4, but the file is written plain");
    }
    if (options.index && options.compression != Compression::none) {
      refuse(fmt::format("an index is for plain files, but the compression is {}", compression));
    }
    if ((options.index || options.flush_point_bytes != 0) && !output_.is_regular()) {
      refuse("a device or a pipe can have no index and no flush points beside it");
    }
  }

  void require_closed_with(bool was_asked_for, std::string_view option) const {
    if (phase_ == Phase::closed && was_asked_for) return;
    throw Error(ErrorCode::failed_precondition,
                was_asked_for
                    ? fmt::format("{}() is known when the file is closed", option)
                    : fmt::format("{}() is known when RecordWriterOptions::{} asked for it", option,
                                  option))
        .at_file(output_.name());
  }

  void require_open(std::string_view action) const {
    if (phase_ == Phase::open) return;
    const char* why = phase_ == Phase::closed ? "it is closed already"
                      : phase_ == Phase::discarded
                          ? "it was discarded"
                          : "an earlier write failed and the file was given up";
    throw Error(ErrorCode::failed_precondition, fmt::format("cannot {}: {}", action, why))
        .at_file(output_.name());
  }

  std::size_t room() const { return buffer_.size() - used_; }

  void store(std::string_view bytes) {
    char* const at = buffer_.data() + used_;
    detail::store_header(at, bytes.size());
    if (!bytes.empty()) std::memcpy(at + detail::kHeaderBytes, bytes.data(), bytes.size());
    detail::store_footer(at + detail::kHeaderBytes + bytes.size(), bytes);
    used_ += detail::kFramingBytes + bytes.size();
    ++records_in_buffer_;
  }

  void store_across(std::string_view bytes) {
    const detail::RecordFrame frame(bytes);
    for (const std::string_view piece : {frame.before(), bytes, frame.after()}) append(piece);
  }

  void append(std::string_view piece) {
    while (!piece.empty()) {
      if (room() == 0) flush();
      std::size_t taken = std::min(piece.size(), room());
      if (taken == buffer_.size()) {  // as it is, without a copy
        taken = piece.size() / buffer_.size() * buffer_.size();
        guarded([&] { put(piece.substr(0, taken)); });
      } else {
        std::memcpy(buffer_.data() + used_, piece.data(), taken);
        used_ += taken;
      }
      piece.remove_prefix(taken);
    }
  }

  /// A record that is larger than a block.
  void write_blocks_of(std::string_view bytes) {
    guarded([&] {
      const detail::RecordFrame frame(bytes);
      lz4_->write_records(fmt::format("{}{}{}", frame.before(), bytes, frame.after()), 1);
    });
  }

  void flush() {
    const std::string_view bytes(buffer_.data(), std::exchange(used_, 0));
    guarded([&] {
      if (lz4_) {
        if (!bytes.empty()) lz4_->write_records(bytes, std::exchange(records_in_buffer_, 0));
      } else {
        put(bytes);
      }
    });
  }

  void put(std::string_view bytes) {
    if (deflater_) {
      deflater_->write(bytes);
    } else {
      output_.write(bytes);
    }
  }

  /// Everything so far was given to the deflater.
  void put_flush_point() {
    if (flush_points_.back().stream_offset == position_.offset) return;
    deflater_->flush_point();
    flush_points_.push_back({output_.bytes_written(), position_.offset, position_.record});
  }

  template <class F>
  void guarded(F&& function) {
    try {
      function();
    } catch (...) {
      phase_ = Phase::failed;
      output_.discard();
      throw;
    }
  }

  OutputFile output_;
  std::unique_ptr<detail::Deflater> deflater_;
  std::optional<detail::Lz4Encoder> lz4_;
  std::vector<char> buffer_;
  const std::uint64_t flush_point_bytes_;
  const Durability durability_;
  const bool is_indexed_;
  const bool is_summed_;
  RecordIndex index_;
  std::vector<detail::SegmentPlace> flush_points_ = {{detail::kGzipHeaderBytes, 0, 0}};
  std::size_t used_ = 0;
  std::uint64_t records_in_buffer_ = 0;
  RecordPosition position_;
  Phase phase_ = Phase::open;
};

RecordWriter::RecordWriter(std::string file, RecordWriterOptions options)
    : state_(std::make_unique<State>(std::move(file), options)) {}
RecordWriter::RecordWriter(RecordWriter&&) noexcept = default;
RecordWriter& RecordWriter::operator=(RecordWriter&&) noexcept = default;
RecordWriter::~RecordWriter() = default;

void RecordWriter::write(std::string_view bytes) { state_->write(bytes); }
void RecordWriter::close() { state_->close(); }
void RecordWriter::discard() noexcept { state_->discard(); }
const RecordIndex& RecordWriter::index() const { return state_->index(); }
FileSum RecordWriter::file_sum() const { return state_->file_sum(); }
RecordPosition RecordWriter::position() const { return state_->position(); }
const std::string& RecordWriter::file() const { return state_->file(); }

}  // namespace infeed
