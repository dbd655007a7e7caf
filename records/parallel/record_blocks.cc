#include "infeed/records/detail/record_blocks.h"

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstring>
#include <utility>

#include "infeed/error.h"
#include "infeed/records/file.h"
#include "memory/block.h"
#include "parallel/compressed_blocks.h"
#include "tfrecord/framing.h"

namespace infeed::detail {
namespace {

// Blocks end where the system's pages do, so that copies out of the page cache are aligned.
constexpr std::uint64_t kPageBytes = 4096;
// A block that ends inside a record has the rest of that record read twice. So a block has room for
// at least four records, unless they are so large that nothing stays in a cache anyway. If records
// are long and all alike, a block ends right before the end of one: 112 KiB come 4 % quicker.
constexpr std::size_t kRecordsPerBlockMin = 4;
constexpr std::size_t kLongRecordBytes = std::size_t{16} << 10;
// Room of a block for the rest of a record that ends in the next block: twice a usual record, in
// steps, since memory is found again by its size. A longer record has the block copied.
constexpr std::size_t kRestBytesMin = std::size_t{64} << 10;
// Mapped bytes come page by page, and lie in no cache when they are framed. Compared with reading,
// mapped records come at 0.87 of the speed for 2 KiB, 0.88 for 16, 1.0 for 32 and 1.6 for 112.
constexpr std::size_t kMappedRecordBytesMin = std::size_t{64} << 10;
// Blocks that the pool keeps for the next ones; some threads hold one each.
constexpr std::size_t kFreeRecordBlocksMax = 8;

}  // namespace

void RecordBlock::swap(RecordBlock& other) noexcept {
  std::swap(file_, other.file_);
  std::swap(begin_, other.begin_);
  std::swap(end_, other.end_);
  std::swap(block_, other.block_);
  std::swap(held_bytes_, other.held_bytes_);
  std::swap(is_read_, other.is_read_);
  std::swap(is_mapped_, other.is_mapped_);
  std::swap(segment_, other.segment_);
  std::swap(crc32_, other.crc32_);
  std::swap(first_record_, other.first_record_);
  std::swap(records_, other.records_);
}

void RecordBlock::release() {
  if (block_ != nullptr) drop_block(std::exchange(block_, nullptr));
}

std::size_t RecordBlock::hand_out(std::size_t first, std::span<Record> out) const {
  const std::size_t count = std::min(out.size(), size() - first);
  block_->references.fetch_add(count, std::memory_order_relaxed);
  for (std::size_t i = 0; i < count; ++i) out[i] = borrowed(first + i);
  return count;
}

bool RecordBlock::is_valid(std::size_t i) const {
  LateCopy nothing;
  return is_valid(i, nothing);
}

bool RecordBlock::is_valid(std::size_t i, LateCopy& late) const {
  if (file_->verifies_payloads_) return payload_is_valid(bytes(i), late);
  late.run();
  return true;
}

BlockFile::BlockFile(const std::string& file, RecordPosition begin, const BlockFileOptions& options)
    : record_bytes_max_(options.record_bytes_max),
      block_bytes_(std::max<std::size_t>(options.block_bytes, kPageBytes)),
      pool_(std::make_shared<BlockPool>(
          file, FreeBlocks{.blocks_max = kFreeRecordBlocksMax, .bytes_max = options.free_bytes_max},
          options.spare_blocks)),
      next_(begin),
      file_name_(file),
      verifies_payloads_(options.verifies_payloads),
      records_(options.records) {}

BlockFile::~BlockFile() = default;

void BlockFile::make_room(RecordBlock& block, std::size_t bytes) const {
  const bool is_free = block.block_ != nullptr && block.block_->capacity_bytes >= bytes &&
                       block.block_->references.load(std::memory_order_acquire) == 1;
  if (is_free) return;
  block.release();
  block.block_ = pool_->take(bytes);
}

FrameState BlockFile::add_record(RecordBlock& block, RecordPosition& next,
                                 std::uint64_t bytes_left) const {
  const auto at = static_cast<std::size_t>(next.offset - block.block_->stream_offset);
  const Frame frame = frame_at(block.block_->data + at, bytes_left, record_bytes_max_);
  if (!frame.is_whole()) return frame.state;
  block.records_.push_back({at + kHeaderBytes, static_cast<std::size_t>(frame.length)});
  next.offset += frame.bytes();
  ++next.record;
  return frame.state;
}

class PlainBlocks final : public BlockFile {
 public:
  PlainBlocks(const std::string& file, RecordPosition begin, const BlockFileOptions& options)
      : PlainBlocks(File::open_to_read(file), begin, options) {}

  bool claim(RecordBlock& block) override;
  void read(RecordBlock& block) override;
  bool frame(RecordBlock& block) override;
  bool complete(RecordBlock& block) const override;

 private:
  PlainBlocks(File file, RecordPosition begin, const BlockFileOptions& options)
      : BlockFile(file.name(), begin, options),
        file_(std::move(file)),
        file_bytes_(file_.size_bytes().value_or(0)),
        large_block_bytes_(options.large_block_bytes),
        mapped_files_(options.mapped_files),
        claimed_(begin.offset),
        framed_to_(begin.offset) {}
  std::uint64_t next_end() const;
  void begin_mapping();
  void begin_mapped(RecordBlock& block) const;
  void begin_in_memory(RecordBlock& block) const;
  bool read_more(RecordBlock& block, std::uint64_t end) const;
  bool read_into_memory(RecordBlock& block, std::uint64_t end) const;
  bool bring_more(RecordBlock& block, std::uint64_t end) const;

  const File file_;
  const std::uint64_t file_bytes_;
  const std::size_t large_block_bytes_;
  std::shared_ptr<MappedFiles> mapped_files_;  ///< null once a mapping was asked for
  // Set by claim() before it gives a block of the mapping.
  std::shared_ptr<const MappedFile> mapped_;
  BlockReference mapped_block_;  ///< a view of all of mapped_
  std::uint64_t claimed_;        ///< end of the claimed bytes
  // Results of frame() tell claim() how much to take, and up to where no record begins.
  std::atomic<std::uint64_t> framed_to_;
  std::atomic<std::size_t> record_bytes_{0};  ///< about the bytes of one record
};

/// Returns the end of the block that begins at claimed_.
std::uint64_t PlainBlocks::next_end() const {
  const std::uint64_t record_bytes = record_bytes_.load(std::memory_order_relaxed);
  const std::uint64_t several =
      std::min<std::uint64_t>(kRecordsPerBlockMin * record_bytes, large_block_bytes_);
  std::uint64_t end = claimed_ + std::max<std::uint64_t>(block_bytes_, several);
  if (record_bytes >= kLongRecordBytes) {
    // If records stay as long as they are, this is a little before the end of the last one in the
    // block.
    const std::uint64_t begin = std::min(framed_to_.load(std::memory_order_relaxed), claimed_);
    const std::uint64_t records_end = begin + (end - begin) / record_bytes * record_bytes;
    const std::uint64_t before_end = record_bytes / 64;
    if (records_end > claimed_ + kPageBytes + before_end) end = records_end - before_end;
  }
  return end / kPageBytes * kPageBytes;
}

void PlainBlocks::begin_mapping() {
  if (record_bytes_.load(std::memory_order_relaxed) < kMappedRecordBytesMin) return;
  const auto files = std::exchange(mapped_files_, nullptr);
  mapped_ = files->of(file_, file_bytes_);
  if (mapped_ != nullptr) {
    mapped_block_ = BlockReference(make_view(file_name(), mapped_->data(), mapped_));
  }
}

bool PlainBlocks::claim(RecordBlock& block) {
  claimed_ = std::max(claimed_, framed_to_.load(std::memory_order_relaxed));
  if (claimed_ >= file_bytes_) return false;
  if (block.file_.get() != this) block = RecordBlock();
  block.file_ = shared_from_this();
  block.records_.clear();
  block.is_read_ = false;
  if (mapped_files_ != nullptr) begin_mapping();
  block.is_mapped_ = mapped_ != nullptr;
  block.begin_ = claimed_;
  block.end_ = std::min(file_bytes_, next_end());
  claimed_ = block.end_;
  return true;
}

void PlainBlocks::read(RecordBlock& block) {
  // Includes the header of a record that begins right before the end.
  const std::uint64_t end = std::min(file_bytes_, block.end_ + kHeaderBytes);
  block.is_mapped_ ? begin_mapped(block) : begin_in_memory(block);
  block.is_read_ = read_more(block, end);
}

void PlainBlocks::begin_mapped(RecordBlock& block) const {
  if (block.block_ != mapped_block_.get()) {
    block.release();
    mapped_block_->references.fetch_add(1, std::memory_order_relaxed);
    block.block_ = mapped_block_.get();
  }
  block.held_bytes_ = static_cast<std::size_t>(block.begin_);
}

void PlainBlocks::begin_in_memory(RecordBlock& block) const {
  const auto claimed_bytes = static_cast<std::size_t>(block.end_ - block.begin_);
  const std::size_t rest_bytes =
      std::max(kRestBytesMin, std::bit_ceil(2 * record_bytes_.load(std::memory_order_relaxed)));
  make_room(block, kBlockLeadBytes + claimed_bytes + std::min(claimed_bytes, rest_bytes));
  // Bytes lie in their cache line as they do in the page.
  const auto lead = static_cast<std::size_t>(block.begin_ % kBlockLeadBytes);
  block.block_->stream_offset = block.begin_ - lead;
  block.held_bytes_ = lead;
}

/// Returns false when the file doesn't give the bytes.
bool PlainBlocks::read_more(RecordBlock& block, std::uint64_t end) const {
  if (end <= block.block_->stream_offset + block.held_bytes_) return true;
  try {
    return block.is_mapped_ ? bring_more(block, end) : read_into_memory(block, end);
  } catch (const Error&) {  // a RecordReader will meet and report it
    return false;
  }
}

bool PlainBlocks::read_into_memory(RecordBlock& block, std::uint64_t end) const {
  const std::uint64_t at = block.block_->stream_offset + block.held_bytes_;
  const auto wanted = static_cast<std::size_t>(end - at);
  Block*& memory = block.block_;
  if (wanted > memory->capacity_bytes - block.held_bytes_) {
    Block* const larger = pool_->take(block.held_bytes_ + wanted);
    larger->stream_offset = memory->stream_offset;
    std::memcpy(larger->data, memory->data, block.held_bytes_);
    drop_block(std::exchange(memory, larger));
  }
  const std::size_t got = file_.read_before_error(at, {memory->data + block.held_bytes_, wanted});
  block.held_bytes_ += got;
  return got == wanted;
}

/// Brings mapped bytes. Notices by its size that the file was shortened.
bool PlainBlocks::bring_more(RecordBlock& block, std::uint64_t end) const {
  if (file_.size_bytes() != file_bytes_ || !mapped_->bring(block.held_bytes_, end)) return false;
  block.held_bytes_ = static_cast<std::size_t>(end);
  return true;
}

bool PlainBlocks::frame(RecordBlock& block) {
  if (!block.is_read_) return false;
  block.first_record_ = next_.record;
  while (next_.offset < block.end_) {
    if (add_record(block, next_, file_bytes_ - next_.offset) != FrameState::whole) return false;
  }
  framed_to_.store(next_.offset, std::memory_order_relaxed);
  if (block.size() != 0) {
    const std::uint64_t begin = block.block_->stream_offset + block.records_.front().begin;
    record_bytes_.store(static_cast<std::size_t>((next_.offset - begin) / block.size()),
                        std::memory_order_relaxed);
  }
  return next_.offset != file_bytes_ || is_right_count(next_.record);
}

bool PlainBlocks::complete(RecordBlock& block) const {
  if (block.records_.empty()) return true;
  const RecordBlock::Extent& last = block.records_.back();
  const std::uint64_t end = block.block_->stream_offset + last.begin + last.size + kFooterBytes;
  return read_more(block, end);
}

std::shared_ptr<BlockFile> open_block_file(const std::string& file, RecordPosition begin,
                                           const BlockFileOptions& options) {
  if (options.compression != Compression::none) return open_compressed_blocks(file, options);
  return std::make_shared<PlainBlocks>(file, begin, options);
}

}  // namespace infeed::detail
