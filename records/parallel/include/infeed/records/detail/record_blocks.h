#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "infeed/detail/late_copy.h"
#include "infeed/records/compression.h"
#include "infeed/records/detail/mapped_files.h"
#include "infeed/records/detail/record_frame.h"
#include "infeed/records/record_reader.h"
#include "infeed/records/spare_blocks.h"

/// Why: one thread that reads, frames and verifies all records limits every pipeline behind it, and
/// records that another core has read come out of a slower cache. So a file is read in blocks, each
/// of which one thread reads, verifies and uses.
///
/// | step       | by            | what it does                                                    |
/// |------------|---------------|-----------------------------------------------------------------|
/// | claim()    | all in turn   | takes the next bytes of the file                                |
/// | read()     | any threads   | reads them into memory, and decompresses them where it can      |
/// | frame()    | all in turn   | finds the records that begin in these bytes                     |
/// | complete() | any threads   | reads the rest of the last one                                  |
/// | is_valid() | any threads   | verifies a record                                               |
///
/// In a plain file only the block before it tells where a block's first record begins. Going from
/// header to header costs 5 ns a record and is all that is done in turn. A gzip file with flush
/// points and an LZ4 file have places where a record begins and decoding can begin: each block is
/// such a segment, whose records read() finds, so that frame() only numbers them. Any other gzip
/// file is decompressed in turn, by claim().
///
/// Blocks only ever give the records that RecordReader would give. Damage, an error of the system
/// or a file that became shorter ends the blocks at that record, and a RecordReader that goes on
/// there reports the reason. Not meant to be used directly.
namespace infeed::detail {

class BlockFile;
class BlockPool;
enum class FrameState;

/// The records that begin in one part of a file. Movable; owns one reference of its memory.
class RecordBlock {
 public:
  struct Extent {
    std::size_t begin;  ///< begin of the payload in the block
    std::size_t size;
  };

  RecordBlock() = default;
  ~RecordBlock() { release(); }
  RecordBlock(RecordBlock&& other) noexcept { swap(other); }
  RecordBlock& operator=(RecordBlock&& other) noexcept {
    RecordBlock moved(std::move(other));
    swap(moved);
    return *this;
  }

  std::size_t size() const { return records_.size(); }
  /// File of the records.
  BlockFile& file() const { return *file_; }
  /// Position of record i.
  RecordPosition position(std::size_t i) const {
    return {first_record_ + i,
            block_->stream_offset + records_[i].begin - RecordFrame::kBytesBefore};
  }
  std::string_view bytes(std::size_t i) const {
    return {block_->data + records_[i].begin, records_[i].size};
  }
  /// Returns a Record that holds no reference of its own: it must be forgotten without being
  /// destroyed, before the block goes. Copies and slices of it count as usual.
  Record borrowed(std::size_t i) const {
    return Record::adopt(block_, bytes(i), first_record_ + i);
  }
  /// Fills the front of `out` with records from number `first` of the block on. Each of them holds
  /// the block's memory. Returns how many.
  std::size_t hand_out(std::size_t first, std::span<Record> out) const;
  /// Returns the position behind the last record. The block must have records.
  RecordPosition next() const {
    const RecordPosition last = position(size() - 1);
    return {last.record + 1, last.offset + RecordFrame::kBytes + records_.back().size};
  }
  /// Returns the end of the claimed bytes in the stream. The last record may end behind it.
  std::uint64_t end() const { return end_; }
  std::uint64_t claimed_bytes() const { return end_ - begin_; }
  /// Lets go of the memory and of the records in it.
  void forget() {
    release();
    records_.clear();
  }
  /// True if record i matches its checksum, or if payloads aren't verified.
  bool is_valid(std::size_t i) const;
  /// Does the same, and runs the copy that was left to `late`, whatever the result.
  bool is_valid(std::size_t i, LateCopy& late) const;

  /// Bytes of memory that the block holds.
  std::size_t memory_bytes() const { return block_ == nullptr ? 0 : block_->capacity_bytes; }

 private:
  friend class BlockFile;
  friend class PlainBlocks;
  friend class SegmentBlocks;
  friend class StreamBlocks;

  void swap(RecordBlock& other) noexcept;
  void release();

  std::shared_ptr<BlockFile> file_;
  std::uint64_t begin_ = 0;  ///< begin of the claimed bytes in the stream
  std::uint64_t end_ = 0;
  Block* block_ = nullptr;
  std::size_t held_bytes_ = 0;  ///< bytes of the stream in block_, from its stream_offset on
  bool is_read_ = false;        ///< all claimed bytes are read
  bool is_mapped_ = false;      ///< block_ is the whole mapped file
  std::size_t segment_ = 0;
  std::uint32_t crc32_ = 0;  ///< CRC-32 of a segment's bytes, if the file has one to compare
  std::uint64_t first_record_ = 0;
  std::vector<Extent> records_;
};

struct BlockFileOptions {
  Compression compression = Compression::none;  ///< not automatic
  std::size_t block_bytes = RecordReaderOptions().block_bytes;
  /// Longest block for records that are so long that few fit block_bytes.
  std::size_t large_block_bytes = std::size_t{4} << 20;
  std::uint64_t record_bytes_max = std::uint64_t{1} << 31;
  bool verifies_payloads = true;
  /// If true, bytes behind the first stream of a gzip file are ignored.
  bool ignores_trailing_bytes = false;
  /// Number of records that the file should have. Any other number makes its end an error.
  std::optional<std::uint64_t> records = {};
  /// Memory that blocks come from and go to; may be null.
  std::shared_ptr<SpareBlocks> spare_blocks = {};
  /// Most bytes of the free blocks (up to 8) that are kept for the next ones; one is kept in any
  /// case.
  std::size_t free_bytes_max = SIZE_MAX;
  /// Mapped files whose long records are used where they lie in the page cache; null: all are read.
  std::shared_ptr<MappedFiles> mapped_files = {};
};

/// One file on a disk that is read in blocks.
///
/// Thread-safety: see above. "In turn": the caller makes sure that no two threads are in claim(),
/// no two in frame(), and that blocks are framed in the order in which they were claimed.
class BlockFile : public std::enable_shared_from_this<BlockFile> {
 public:
  virtual ~BlockFile();
  BlockFile(const BlockFile&) = delete;
  BlockFile& operator=(const BlockFile&) = delete;

  /// Takes the next bytes. Returns false at the end of the file; `block` is then untouched. A block
  /// that was used before keeps its memory, which is warm in the cache of the core that used it.
  virtual bool claim(RecordBlock& block) = 0;
  virtual void read(RecordBlock& block) = 0;
  /// Finds the block's records. Returns false when not all could be found: the block then has those
  /// before next().
  virtual bool frame(RecordBlock& block) = 0;
  /// Reads the rest of the last record. Called before anybody looks at a record. Returns false when
  /// the last one isn't whole after all.
  virtual bool complete(RecordBlock&) const { return true; }

  const std::string& file_name() const { return file_name_; }
  /// Position behind the framed records.
  RecordPosition next() const { return next_; }

 protected:
  BlockFile(const std::string& file, RecordPosition begin, const BlockFileOptions& options);

  /// Makes the block's memory at least `bytes` large: the memory that it has, or other.
  void make_room(RecordBlock& block, std::size_t bytes) const;
  /// Adds the record at `next` to the block and moves `next` behind it, if a whole record begins
  /// there. From `next` on the file has `bytes_left`, and the block holds at least a header.
  FrameState add_record(RecordBlock& block, RecordPosition& next, std::uint64_t bytes_left) const;
  bool is_right_count(std::uint64_t records) const { return !records_ || records == *records_; }

  const std::uint64_t record_bytes_max_;
  const std::size_t block_bytes_;
  const std::shared_ptr<BlockPool> pool_;
  RecordPosition next_;

 private:
  friend class RecordBlock;
  const std::string file_name_;
  const bool verifies_payloads_;
  const std::optional<std::uint64_t> records_;
};

/// Opens a file from the record at `begin` on, which must be the first in a compressed file. Throws
/// as RecordReader's constructor does.
std::shared_ptr<BlockFile> open_block_file(const std::string& file, RecordPosition begin,
                                           const BlockFileOptions& options);

}  // namespace infeed::detail
