#pragma once

#include <cstddef>
#include <mutex>
#include <vector>

/// Why: fresh memory costs a page fault every 4 KiB, and the memory of a reader's threads goes back
/// to the system when the reader ends. A program that reads one file after the other, each on
/// several threads, gives all readers the same spare blocks: gzipped files of 5 MB then come a
/// tenth quicker. A records stage does so by itself.
///
///     const auto spare = std::make_shared<infeed::SpareBlocks>(std::size_t{8} << 20);
///     for (const std::string& name : names) {
///       infeed::ParallelRecordReader reader(name, {.spare_blocks = spare});
///       ...
///     }
///
/// Thread-safety: any number of readers and threads at once.
namespace infeed {

namespace detail {
struct Block;
}

class SpareBlocks {
 public:
  /// Keeps at most `bytes_max` bytes.
  explicit SpareBlocks(std::size_t bytes_max);
  ~SpareBlocks();
  SpareBlocks(const SpareBlocks&) = delete;
  SpareBlocks& operator=(const SpareBlocks&) = delete;

  std::size_t bytes_max() const { return bytes_max_; }
  /// For readers. Returns a block with room for `bytes_min`, or null.
  detail::Block* take(std::size_t bytes_min);
  /// For readers. Returns false when the block isn't wanted: there are enough, or it would take a
  /// large part of all bytes.
  bool keep(detail::Block* block) noexcept;

 private:
  const std::size_t bytes_max_;
  std::mutex mutex_;
  std::size_t bytes_ = 0;
  std::vector<detail::Block*> blocks_;
};

}  // namespace infeed
