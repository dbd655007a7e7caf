#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "infeed/detail/late_copy.h"
#include "infeed/records/compression.h"
#include "infeed/records/detail/mapped_files.h"
#include "infeed/records/detail/record_frame.h"
#include "infeed/records/record_reader.h"
#include "infeed/records/spare_blocks.h"

/// Why: one thread that reads, frames and verifies all records is the limit of every pipeline
/// behind it, and records that another core has read come out of a slower cache. So a file can be
/// had in blocks, each of which one thread reads, verifies and uses.
///
/// | step       | by            | what it does                                                    |
/// |------------|---------------|-----------------------------------------------------------------|
/// | claim()    | all in turn   | takes the next bytes of the file                                |
/// | read()     | any threads   | reads them into memory, and decompresses them where it can      |
/// | frame()    | all in turn   | finds the records that begin in these bytes                     |
/// | complete() | all in turn   | reads the rest of the last one                                  |
/// | is_valid() | any threads   | verifies a record                                               |
///
/// Of a plain file only the block before it knows where a block's first record begins: to go from
/// header to header costs 5 ns a record and is all that is done in turn. A gzip file with its flush
/// points and an LZ4 file have places where a record begins and decoding can: each block is such a
/// segment. Another gzip file is decompressed in turn, by claim().
///
/// It only ever gives what RecordReader would give. Whatever else there is (damage, an error of the
/// system, a file that is shorter than it was) ends the blocks at that record, and a RecordReader
/// that goes on there says what it is. Not meant to be used directly.
namespace infeed::detail {

class BlockFile;
class BlockPool;
enum class FrameState;

/// The records of a file that begin in some of its bytes. Moves; owns one reference of its memory.
class RecordBlock {
 public:
  struct Extent {
    std::size_t begin;  ///< of the payload in the block
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
  /// Of the file that it is from.
  BlockFile& file() const { return *file_; }
  /// Of record i.
  RecordPosition position(std::size_t i) const {
    return {first_record_ + i,
            block_->stream_offset + records_[i].begin - RecordFrame::kBytesBefore};
  }
  std::string_view bytes(std::size_t i) const {
    return {block_->data + records_[i].begin, records_[i].size};
  }
  /// A Record that holds no reference of its own: it is to be forgotten without being destroyed,
  /// before the block goes. Copies and slices of it count as usual.
  Record borrowed(std::size_t i) const {
    return Record::adopt(block_, bytes(i), first_record_ + i);
  }
  /// Whether record i is what its checksum says, where payloads are verified.
  bool is_valid(std::size_t i) const;
  /// The same, and does what was left to `late` of the record's bytes, whatever comes out.
  bool is_valid(std::size_t i, LateCopy& late) const;

  /// Bytes of memory that it has.
  std::size_t memory_bytes() const { return block_ == nullptr ? 0 : block_->capacity_bytes; }

 private:
  friend class BlockFile;
  friend class PlainBlocks;
  friend class SegmentBlocks;
  friend class StreamBlocks;

  void swap(RecordBlock& other) noexcept;
  void release();

  std::shared_ptr<BlockFile> file_;
  std::uint64_t begin_ = 0;  ///< in the stream: what was claimed
  std::uint64_t end_ = 0;
  Block* block_ = nullptr;
  std::size_t held_bytes_ = 0;  ///< of the stream in block_, from its stream_offset on
  bool is_read_ = false;        ///< all that was claimed
  bool is_mapped_ = false;      ///< block_ is the whole file, where it lies
  std::size_t segment_ = 0;
  std::uint32_t crc32_ = 0;  ///< of a segment's bytes, where the file has one to compare with
  std::uint64_t first_record_ = 0;
  std::vector<Extent> records_;
};

struct BlockFileOptions {
  Compression compression = Compression::none;  ///< not automatic
  std::size_t block_bytes = RecordReaderOptions().block_bytes;
  std::uint64_t record_bytes_max = std::uint64_t{1} << 31;
  bool verifies_payloads = true;
  /// Of a gzip file: what follows the first stream is not for us.
  bool ignores_trailing_bytes = false;
  /// How many the file should have; with another number its end is not as it should be.
  std::optional<std::uint64_t> records = {};
  /// Where memory comes from and goes to; it may be null.
  std::shared_ptr<SpareBlocks> spare_blocks = {};
  /// Bytes of up to 8 blocks that are kept for the next ones; one is kept in any case.
  std::size_t free_bytes_max = SIZE_MAX;
  /// Where long records of a plain file are used as they lie in the page cache; null: all are read.
  std::shared_ptr<MappedFiles> mapped_files = {};
};

/// One file on a disk that is read in blocks.
///
/// Thread-safety: see above. "In turn": the caller sees to it that no two threads are in claim(), no
/// two in frame(), and that blocks are framed in the order in which they were claimed.
class BlockFile : public std::enable_shared_from_this<BlockFile> {
 public:
  virtual ~BlockFile();
  BlockFile(const BlockFile&) = delete;
  BlockFile& operator=(const BlockFile&) = delete;

  /// False at the end of the file; `block` is then untouched. One that was used before keeps its
  /// memory, which is warm in the cache of the core that used it.
  virtual bool claim(RecordBlock& block) = 0;
  virtual void read(RecordBlock& block) = 0;
  /// False when not all of the block's records could be found: it has those before next().
  virtual bool frame(RecordBlock& block) = 0;
  /// Before anybody looks at a record. False when the last one isn't whole after all.
  virtual bool complete(RecordBlock&) const { return true; }

  const std::string& file_name() const { return file_name_; }
  /// The record behind those that were framed.
  RecordPosition next() const { return next_; }

 protected:
  BlockFile(const std::string& file, RecordPosition begin, const BlockFileOptions& options);

  /// Memory for so many bytes: what the block has, or other.
  void make_room(RecordBlock& block, std::size_t bytes) const;
  /// Where a whole record begins at `next`: adds it to the block and goes behind it. So many bytes are
  /// left from there on, of which the block holds a header at least.
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

/// From the record at `begin` on, which of a compressed file is the first. Throws as RecordReader's
/// constructor.
std::shared_ptr<BlockFile> open_block_file(const std::string& file, RecordPosition begin,
                                           const BlockFileOptions& options);

}  // namespace infeed::detail
