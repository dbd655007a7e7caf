#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>

#include "io/byte_source.h"
#include "memory/block.h"

/// The part of a stream that is in memory: contiguous bytes inside one reference-counted block.
/// Records are cut out of it without copying; only what straddles the end of a block is moved.
namespace infeed::detail {

class StreamWindow {
 public:
  StreamWindow(std::unique_ptr<ByteSource> source, std::shared_ptr<BlockPool> pool,
               std::size_t block_bytes);

  const char* data() const { return begin_; }
  std::size_t size() const { return static_cast<std::size_t>(end_ - begin_); }
  Block* block() const { return block_.get(); }
  /// Of data() in the stream.
  std::uint64_t offset() const { return offset_; }
  /// From data() to the end of the stream, where that is known. A file may turn out shorter.
  std::optional<std::uint64_t> remaining_bytes() const;

  void consume(std::size_t bytes) {
    begin_ += bytes;
    offset_ += bytes;
  }
  /// Makes `bytes` available from data() on; false when the stream ends before, or is damaged (what
  /// there is stays available). Memory grows with the bytes that really arrive. Throws Error where
  /// the system fails.
  bool ensure(std::size_t bytes) { return size() >= bytes || fill(bytes); }
  /// Passes over bytes without keeping them; false when the stream ends before.
  bool discard(std::uint64_t bytes);
  bool is_seekable() const { return source_->is_seekable(); }
  void seek(std::uint64_t offset);
  /// Forgets what is here: the source's next bytes are those at `offset` of the stream.
  void start_at(std::uint64_t offset);
  /// Why the stream ended before its end, when it is damaged.
  const std::optional<StreamDamage>& damage() const { return damage_; }
  /// Gives up what is left before the damage and goes on behind it; false when nothing is there.
  bool resume_behind_damage();

 private:
  bool fill(std::size_t bytes);
  std::size_t room_preferred() const;
  std::size_t part_of_another(std::size_t bytes) const;
  std::size_t read_source(std::span<char> into);
  /// Where data() belongs: as far behind the begin of a cache line as its bytes are in the file.
  /// The system's copy out of its page cache never meets then what PageBuffer speaks of, as one
  /// read in 130 would.
  char* front_of(const Block& block) const { return block.data + offset_ % kBlockLeadBytes; }
  void make_room(std::size_t bytes);

  std::unique_ptr<ByteSource> source_;
  std::shared_ptr<BlockPool> pool_;
  const std::size_t block_bytes_;
  BlockReference block_;
  const char* begin_ = nullptr;
  char* end_ = nullptr;
  std::uint64_t offset_ = 0;
  bool ended_ = false;
  std::optional<StreamDamage> damage_;
  /// What was asked for at once last, where it was much.
  std::size_t large_bytes_ = 0;
  /// After a jump little may be wanted: the first read is small.
  bool jumped_ = false;
};

}  // namespace infeed::detail
