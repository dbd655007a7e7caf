#include "parallel/compressed_blocks.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <mutex>
#include <utility>
#include <zlib.h>

#include "infeed/error.h"
#include "io/byte_source.h"
#include "memory/block.h"
#include "tfrecord/framing.h"

namespace infeed::detail {
namespace {

// Limit of a segment, since each becomes a block and a file beside the data may claim any size.
// With larger segments a file is decompressed from the front.
constexpr std::uint64_t kSegmentBytesMax = std::uint64_t{16} << 20;

/// Returns the memory for a segment of `bytes`. Segments differ in length, but the pool finds memory
/// again by its size: so it comes in steps, which for short segments are short, since a read-ahead
/// has hundreds of them.
std::size_t room_for(std::size_t bytes) {
  constexpr std::size_t kStepBytes = std::size_t{128} << 10;
  if (bytes < kStepBytes) return std::bit_ceil(bytes + 1);
  return (bytes / kStepBytes + 1) * kStepBytes;
}

bool are_small(const std::vector<Segment>& segments) {
  return std::all_of(segments.begin(), segments.end(), [](const Segment& segment) {
    return segment.stream_end - segment.stream_begin <= kSegmentBytesMax;
  });
}

}  // namespace

/// A file in which each block is a segment.
class SegmentBlocks final : public BlockFile {
 public:
  SegmentBlocks(const std::string& file, RecordPosition begin, const BlockFileOptions& options,
                std::vector<Segment> segments)
      : BlockFile(file, begin, options),
        file_(file),
        compression_(options.compression),
        segments_(std::move(segments)) {
    while (claimed_ < segments_.size() && segments_[claimed_].stream_end <= begin.offset) {
      ++claimed_;
    }
  }

  bool claim(RecordBlock& block) override {
    if (claimed_ == segments_.size()) return false;
    if (block.file_.get() != this) block = RecordBlock();
    block.file_ = shared_from_this();
    block.records_.clear();
    block.is_read_ = false;
    block.begin_ = segments_[claimed_].stream_begin;
    block.end_ = segments_[claimed_].stream_end;
    block.segment_ = claimed_++;
    return true;
  }

  void read(RecordBlock& block) override {
    const Segment& segment = segments_[block.segment_];
    const auto size = static_cast<std::size_t>(segment.stream_end - segment.stream_begin);
    make_room(block, room_for(size));
    block.block_->stream_offset = segment.stream_begin;
    block.held_bytes_ = 0;
    try {
      std::unique_ptr<SegmentSource> source = take_source();
      source->begin(segment);
      while (block.held_bytes_ < size) {
        const std::size_t got =
            source->read({block.block_->data + block.held_bytes_, size - block.held_bytes_});
        if (got == 0) return;
        block.held_bytes_ += got;
      }
      block.crc32_ = source->crc32();
      block.is_read_ = find_records(block, segment);
      give_back(std::move(source));
    } catch (const Error&) {  // a RecordReader will meet and report it
    } catch (const StreamDamage&) {
    }
  }

  bool frame(RecordBlock& block) override {
    const Segment& segment = segments_[block.segment_];
    if (next_.offset != segment.stream_begin) {
      block.records_.clear();
      return false;
    }
    block.first_record_ = next_.record;
    if (block.size() != 0) next_ = block.next();
    if (!block.is_read_) return false;
    if (compression_ == Compression::gzip) {
      const auto bytes = static_cast<z_off_t>(segment.stream_end - segment.stream_begin);
      crc32_ = static_cast<std::uint32_t>(::crc32_combine(crc32_, block.crc32_, bytes));
    }
    const bool is_last = block.segment_ + 1 == segments_.size();
    return !is_last || (is_right_count(next_.record) && ends_well());
  }

 private:
  bool find_records(RecordBlock& block, const Segment& segment) const {
    RecordPosition at{0, segment.stream_begin};
    while (at.offset < segment.stream_end) {
      const std::uint64_t rest = segment.stream_end - at.offset;
      if (add_record(block, at, rest) != FrameState::whole) return false;
    }
    return true;
  }

  bool ends_well() const {
    if (compression_ != Compression::gzip) return true;
    try {
      return gzip_tail_is_right(file_, segments_.back().file_end, crc32_, next_.offset);
    } catch (const Error&) {
      return false;
    }
  }

  std::unique_ptr<SegmentSource> take_source() {
    {
      const std::lock_guard lock(mutex_);
      if (!sources_.empty()) {
        std::unique_ptr<SegmentSource> source = std::move(sources_.back());
        sources_.pop_back();
        return source;
      }
    }
    return make_segment_source(file_, compression_, block_bytes_);
  }
  void give_back(std::unique_ptr<SegmentSource> source) {
    const std::lock_guard lock(mutex_);
    sources_.push_back(std::move(source));
  }

  const std::string file_;
  const Compression compression_;
  const std::vector<Segment> segments_;
  std::size_t claimed_ = 0;
  std::uint32_t crc32_ = 0;  ///< CRC-32 of the framed bytes
  std::mutex mutex_;
  std::vector<std::unique_ptr<SegmentSource>> sources_;  ///< sources not in use now
};

/// A file that claim() decompresses. Keeps the front of a record that ends in the next block.
class StreamBlocks final : public BlockFile {
 public:
  StreamBlocks(const std::string& file, const BlockFileOptions& options)
      : BlockFile(file, {}, options),
        source_(open_source(file, {.compression = options.compression,
                                   .input_block_bytes = block_bytes_,
                                   .trailing = options.ignores_trailing_bytes
                                                   ? TrailingStreams::ignore_like_tensorflow
                                                   : TrailingStreams::read})
                    .source) {}

  bool claim(RecordBlock& block) override {
    if (has_ended_) return false;
    if (block.file_.get() != this) block = RecordBlock();
    block.file_ = shared_from_this();
    block.records_.clear();
    std::size_t room_bytes = std::max(block_bytes_, source_->room_preferred()) + carried_.size();
    make_room(block, room_bytes);
    block.block_->stream_offset = claimed_.offset;
    block.held_bytes_ = carried_.size();
    if (!carried_.empty()) std::memcpy(block.block_->data, carried_.data(), carried_.size());
    block.first_record_ = claimed_.record;
    // Goes on to the end of at least one record, and doubles the room each time.
    while (fill(block, room_bytes) && block.records_.empty()) {
      room_bytes *= 2;
      make_larger(block, room_bytes);
    }
    block.is_read_ = is_good_;
    block.end_ = claimed_.offset;
    const auto used = static_cast<std::size_t>(claimed_.offset - block.block_->stream_offset);
    carried_.assign(block.block_->data + used, block.held_bytes_ - used);
    return true;
  }

  void read(RecordBlock&) override {}

  bool frame(RecordBlock& block) override {
    next_ = {block.first_record_ + block.records_.size(), block.end_};
    return block.is_read_;
  }

 private:
  /// Decompresses as much as there is room for and finds the whole records. Returns false at the
  /// end.
  bool fill(RecordBlock& block, std::size_t room_bytes) {
    Block& memory = *block.block_;
    while (!has_ended_ && block.held_bytes_ < room_bytes) {
      try {
        const std::size_t got =
            source_->read({memory.data + block.held_bytes_, room_bytes - block.held_bytes_});
        block.held_bytes_ += got;
        has_ended_ = got == 0;
      } catch (const Error&) {  // a RecordReader will meet and report it
        give_up();
      } catch (const StreamDamage&) {
        give_up();
      }
    }
    find_records(block);
    const bool is_whole = claimed_.offset == memory.stream_offset + block.held_bytes_;
    if (has_ended_ && !(is_whole && is_right_count(claimed_.record))) give_up();
    return !has_ended_;
  }

  void find_records(RecordBlock& block) {
    const std::uint64_t held_end = block.block_->stream_offset + block.held_bytes_;
    FrameState state = FrameState::whole;
    while (state == FrameState::whole) {
      state = add_record(block, claimed_, held_end - claimed_.offset);
    }
    if (state != FrameState::needs_bytes) give_up();
  }

  void make_larger(RecordBlock& block, std::size_t room_bytes) const {
    if (block.block_->capacity_bytes >= room_bytes) return;
    Block* const larger = pool_->take(room_bytes);
    larger->stream_offset = block.block_->stream_offset;
    std::memcpy(larger->data, block.block_->data, block.held_bytes_);
    drop_block(std::exchange(block.block_, larger));
  }

  void give_up() {
    is_good_ = false;
    has_ended_ = true;
  }

  const std::unique_ptr<ByteSource> source_;
  RecordPosition claimed_;  ///< behind the records of all blocks
  std::string carried_;     ///< decompressed bytes behind those records
  bool has_ended_ = false;
  bool is_good_ = true;  ///< true if all was good so far
};

std::shared_ptr<BlockFile> make_segment_blocks(const std::string& file, RecordPosition begin,
                                               const BlockFileOptions& options,
                                               std::vector<Segment> segments) {
  return std::make_shared<SegmentBlocks>(file, begin, options, std::move(segments));
}

std::shared_ptr<BlockFile> open_compressed_blocks(const std::string& file,
                                                  const BlockFileOptions& options) {
  SegmentPlan plan = plan_segments(file, options.compression, options.block_bytes);
  if (plan.segments.empty() || !are_small(plan.segments)) {
    return std::make_shared<StreamBlocks>(file, options);
  }
  return make_segment_blocks(file, {}, options, std::move(plan.segments));
}

}  // namespace infeed::detail
