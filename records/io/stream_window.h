#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>

#include "infeed/records/detail/mapped_files.h"
#include "io/byte_source.h"
#include "memory/block.h"

/// The part of a stream that is in memory: contiguous bytes inside one reference-counted block.
/// Records are cut out of it without copying; only bytes that straddle the end of a block are
/// moved. The bytes of a file that is mapped are used where they lie, up to the end that it had when it
/// was mapped.
namespace infeed::detail {

class StreamWindow {
 public:
  /// `mapped_files` keep the source's file mapped; null: it is read.
  StreamWindow(std::unique_ptr<ByteSource> source, std::shared_ptr<BlockPool> pool,
               std::size_t block_bytes, std::shared_ptr<MappedFiles> mapped_files = nullptr);

  const char* data() const { return begin_; }
  std::size_t size() const { return static_cast<std::size_t>(end_ - begin_); }
  Block* block() const { return block_.get(); }
  /// Place of data() in the stream.
  std::uint64_t offset() const { return offset_; }
  /// Bytes from data() to the end of the stream, where that is known. A file may turn out shorter;
  /// one that has turned out longer has no known end.
  std::optional<std::uint64_t> remaining_bytes() const;

  void consume(std::size_t bytes) {
    begin_ += bytes;
    offset_ += bytes;
  }
  /// Makes `bytes` available from data() on. Returns false when the stream ends before or is
  /// damaged; the bytes that came stay available. Memory grows with the bytes that really arrive.
  /// Throws Error where the system fails.
  bool ensure(std::size_t bytes) { return size() >= bytes || fill(bytes); }
  /// Passes over bytes without keeping them. Returns false when the stream ends before.
  bool discard(std::uint64_t bytes);
  bool is_seekable() const { return source_->is_seekable(); }
  void seek(std::uint64_t offset);
  /// Forgets the bytes in memory: the source's next bytes are those at `offset` of the stream.
  void start_at(std::uint64_t offset);
  /// Damage that ended the stream early, if any.
  const std::optional<StreamDamage>& damage() const { return damage_; }
  /// Gives up the bytes left before the damage and goes on behind it. Returns false when nothing
  /// follows.
  bool resume_behind_damage();

 private:
  bool fill(std::size_t bytes);
  void begin_mapping();
  bool bring(std::size_t bytes);
  std::size_t room_preferred() const;
  std::size_t part_of_another(std::size_t bytes) const;
  std::size_t read_source(std::span<char> into);
  /// Returns the place of data(): as far behind the begin of a cache line as its bytes are in the
  /// file. So the system's copy out of its page cache never meets the slow case described in
  /// PageBuffer. Blocks that begin anywhere would meet it once in 130 reads.
  char* front_of(const Block& block) const { return block.data + offset_ % kBlockLeadBytes; }
  void make_room(std::size_t bytes);

  std::unique_ptr<ByteSource> source_;
  std::shared_ptr<BlockPool> pool_;
  const std::size_t block_bytes_;
  std::shared_ptr<MappedFiles> mapped_files_;  ///< null once a mapping was asked for
  std::shared_ptr<const MappedFile> mapped_;   ///< while block_ is a view of it
  BlockReference block_;
  const char* begin_ = nullptr;
  char* end_ = nullptr;
  std::uint64_t offset_ = 0;
  bool ended_ = false;
  std::optional<StreamDamage> damage_;
  /// Size of the last large request (32 KiB or more).
  std::size_t large_bytes_ = 0;
  /// True after a jump. The first read is then small, since little may be wanted.
  bool jumped_ = false;
};

}  // namespace infeed::detail
