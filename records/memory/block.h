#pragma once

#include <cstddef>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "infeed/records/record.h"
#include "infeed/records/spare_blocks.h"

/// Blocks that records live in, and the pool that gives them out again. Fresh memory costs a page
/// fault every 4 KiB, about as much as reading the bytes; a block that has just been dropped is
/// still in the cache. Each reader has one pool. Blocks may come home from any thread, also after
/// the reader is gone.
namespace infeed::detail {

/// Bytes at a block's front that let a stream's bytes lie in their cache line as in their file.
inline constexpr std::size_t kBlockLeadBytes = 64;

/// Limits of the blocks that a pool keeps for the next ones: one block, and more while both limits
/// suffice. Kept blocks don't count against a memory limit, and blocks of large records have
/// megabytes.
struct FreeBlocks {
  std::size_t blocks_max = 4;
  std::size_t bytes_max = std::size_t{4} << 20;
};

class BlockPool : public std::enable_shared_from_this<BlockPool> {
 public:
  /// Takes blocks from `spare`, and gives them to it at the end; it may be null.
  explicit BlockPool(std::string file, FreeBlocks kept = {},
                     std::shared_ptr<SpareBlocks> spare = nullptr)
      : file_(std::make_shared<const std::string>(std::move(file))),
        kept_(kept),
        spare_(std::move(spare)) {
    free_.reserve(kept.blocks_max);
  }
  ~BlockPool();
  BlockPool(const BlockPool&) = delete;
  BlockPool& operator=(const BlockPool&) = delete;

  /// Returns a block of at least `bytes_min` with one reference, which the caller owns.
  Block* take(std::size_t bytes_min);
  void give_back(Block* block) noexcept;
  const std::string& file() const { return *file_; }
  /// For blocks that may outlive the pool.
  const std::shared_ptr<const std::string>& shared_file() const { return file_; }
  std::size_t free_blocks() const;

 private:
  const std::shared_ptr<const std::string> file_;
  const FreeBlocks kept_;
  const std::shared_ptr<SpareBlocks> spare_;
  mutable std::mutex mutex_;
  std::vector<Block*> free_;
  std::size_t free_bytes_ = 0;
};

/// Returns a block of exactly `bytes`, which is freed instead of coming home. `file` is its file's
/// name and may be null.
Block* make_lone_block(std::size_t bytes, std::shared_ptr<const std::string> file);
/// Returns a block whose bytes are those of `owner`, which lives as long as the block. It counts as
/// no memory.
Block* make_view(const std::string& file, const char* data, std::shared_ptr<const void> owner);

/// An owned reference to a block.
class BlockReference {
 public:
  BlockReference() = default;
  explicit BlockReference(Block* block) : block_(block) {}
  BlockReference(BlockReference&& other) noexcept : block_(std::exchange(other.block_, nullptr)) {}
  BlockReference& operator=(BlockReference&& other) noexcept {
    std::swap(block_, other.block_);
    return *this;
  }
  ~BlockReference() {
    if (block_ != nullptr) drop_block(block_);
  }
  Block* get() const { return block_; }
  Block* operator->() const { return block_; }
  Block& operator*() const { return *block_; }
  explicit operator bool() const { return block_ != nullptr; }
  Block* release() { return std::exchange(block_, nullptr); }

 private:
  Block* block_ = nullptr;
};

}  // namespace infeed::detail
