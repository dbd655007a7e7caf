#include "infeed/records/detail/record_blocks.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "infeed/error.h"
#include "io/block.h"
#include "io/input_file.h"
#include "tfrecord/framing.h"

namespace infeed::detail {
namespace {

// Blocks end where the system's pages do, so that copies out of the page cache are aligned.
constexpr std::uint64_t kPageBytes = 4096;
// Of a block that ends inside a record the rest of that is read twice: so there are at least four
// records to a block, unless they are so large that nothing stays in a cache anyway.
constexpr std::size_t kRecordsPerBlockMin = 4;
constexpr std::size_t kLargeBlockBytes = std::size_t{4} << 20;
// In the pool for the next blocks; some threads hold one each.
constexpr std::size_t kFreeRecordBlocksMax = 8;

}  // namespace

void RecordBlock::swap(RecordBlock& other) noexcept {
  std::swap(file_, other.file_);
  std::swap(begin_, other.begin_);
  std::swap(end_, other.end_);
  std::swap(block_, other.block_);
  std::swap(held_bytes_, other.held_bytes_);
  std::swap(is_read_, other.is_read_);
  std::swap(first_record_, other.first_record_);
  std::swap(records_, other.records_);
}

void RecordBlock::release() {
  if (block_ != nullptr) drop_block(std::exchange(block_, nullptr));
}

bool RecordBlock::is_valid(std::size_t i) const {
  return !file_->verifies_payloads_ || payload_is_valid(bytes(i));
}

BlockFile::BlockFile(const std::string& file, RecordPosition begin, const BlockFileOptions& options)
    : input_(open_input_file(file)),
      pool_(
          std::make_shared<BlockPool>(input_->name(), kFreeRecordBlocksMax, options.spare_blocks)),
      file_bytes_(input_->size_bytes().value_or(0)),
      record_bytes_max_(options.record_bytes_max),
      verifies_payloads_(options.verifies_payloads),
      records_(options.records),
      block_bytes_(std::max<std::size_t>(options.block_bytes, kPageBytes)),
      claimed_(begin.offset),
      next_(begin),
      framed_to_(begin.offset) {}

BlockFile::~BlockFile() = default;

bool BlockFile::claim(RecordBlock& block) {
  claimed_ = std::max(claimed_, framed_to_.load(std::memory_order_relaxed));
  if (claimed_ >= file_bytes_) return false;
  const std::size_t several = kRecordsPerBlockMin * record_bytes_.load(std::memory_order_relaxed);
  const std::size_t wanted = std::max(block_bytes_, std::min(several, kLargeBlockBytes));
  if (block.file_.get() != this) block = RecordBlock();
  block.file_ = shared_from_this();
  block.records_.clear();
  block.is_read_ = false;
  block.begin_ = claimed_;
  block.end_ = std::min(file_bytes_, (claimed_ + wanted) / kPageBytes * kPageBytes);
  claimed_ = block.end_;
  return true;
}

void BlockFile::read(RecordBlock& block) const {
  // Room for the rest of a record that ends in the next block.
  const auto claimed_bytes = static_cast<std::size_t>(block.end_ - block.begin_);
  const std::size_t room_bytes = kBlockLeadBytes + 2 * claimed_bytes;
  const bool is_free = block.block_ != nullptr && block.block_->capacity_bytes >= room_bytes &&
                       block.block_->references.load(std::memory_order_acquire) == 1;
  if (!is_free) {
    block.release();
    block.block_ = pool_->take(room_bytes);
  }
  // Bytes lie in their cache line as they do in the page.
  const auto lead = static_cast<std::size_t>(block.begin_ % kBlockLeadBytes);
  block.block_->stream_offset = block.begin_ - lead;
  block.held_bytes_ = lead;
  // With the header of a record that begins right before the end.
  block.is_read_ = read_more(block, std::min(file_bytes_, block.end_ + kHeaderBytes));
}

/// False when the file doesn't give them.
bool BlockFile::read_more(RecordBlock& block, std::uint64_t end) const {
  const std::uint64_t at = block.block_->stream_offset + block.held_bytes_;
  if (end <= at) return true;
  const auto wanted = static_cast<std::size_t>(end - at);
  Block*& memory = block.block_;
  if (wanted > memory->capacity_bytes - block.held_bytes_) {
    Block* const larger = pool_->take(block.held_bytes_ + wanted);
    larger->stream_offset = memory->stream_offset;
    std::memcpy(larger->data, memory->data, block.held_bytes_);
    drop_block(std::exchange(memory, larger));
  }
  try {
    const std::size_t got = input_->read_at(at, {memory->data + block.held_bytes_, wanted});
    block.held_bytes_ += got;
    return got == wanted;
  } catch (const Error&) {  // a RecordReader will meet it, too, and say so
    return false;
  }
}

bool BlockFile::frame(RecordBlock& block) {
  if (!block.is_read_) return false;
  block.first_record_ = next_.record;
  const std::uint64_t stream_offset = block.block_->stream_offset;
  while (next_.offset < block.end_) {
    const auto at = static_cast<std::size_t>(next_.offset - stream_offset);
    if (block.held_bytes_ - at < kHeaderBytes) return false;
    const Header header = load_header(block.block_->data + at);
    const std::uint64_t rest = file_bytes_ - next_.offset;
    const bool can_be = header.is_valid() && header.length <= record_bytes_max_ &&
                        rest >= kFramingBytes && header.length <= rest - kFramingBytes;
    if (!can_be) return false;
    block.records_.push_back({at + kHeaderBytes, static_cast<std::size_t>(header.length)});
    next_.offset += kFramingBytes + header.length;
    ++next_.record;
  }
  framed_to_.store(next_.offset, std::memory_order_relaxed);
  if (block.size() != 0) {
    const std::uint64_t begin = stream_offset + block.records_.front().begin;
    record_bytes_.store(static_cast<std::size_t>((next_.offset - begin) / block.size()),
                        std::memory_order_relaxed);
  }
  return !is_at_end() || !records_ || next_.record == *records_;
}

bool BlockFile::complete(RecordBlock& block) const {
  if (block.records_.empty()) return true;
  const RecordBlock::Extent& last = block.records_.back();
  const std::uint64_t end = block.block_->stream_offset + last.begin + last.size + kFooterBytes;
  return read_more(block, end);
}

}  // namespace infeed::detail
