#pragma once

#include <atomic>
#include <cstddef>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include <infeed/pipeline/batch.h>
#include <infeed/records/tensor_pool.h>

namespace infeed::detail {

/// Keeps the blocks of destroyed batches for the next ones: a fresh megabyte costs page faults
/// (0.25 us per 4 KiB), a pooled one nothing.
///
/// A stage that fills batches has a pool for its run. The free blocks count in the memory account,
/// and are freed with the stage.
///
/// Invariants: mutex_ guards free_. Blocks in use hold a reference to the pool, so it outlives the
/// pipeline if a user keeps a batch.
class BatchPool : public std::enable_shared_from_this<BatchPool> {
 public:
  BatchPool(const BatchLayout& layout, std::size_t rows_max, BatchMemory memory,
            std::shared_ptr<FreeMemoryAccount> account = nullptr);
  ~BatchPool();
  BatchPool(const BatchPool&) = delete;
  BatchPool& operator=(const BatchPool&) = delete;

  /// Returns a pool for batches of the same kind.
  std::shared_ptr<BatchPool> for_run(std::shared_ptr<FreeMemoryAccount> account) const {
    return std::make_shared<BatchPool>(layout_, rows_max_, memory_, std::move(account));
  }
  /// Returns an empty batch with room for rows_max rows.
  BatchReference take();
  std::size_t block_bytes() const { return block_bytes_; }
  /// Frees the free blocks. Blocks that come back later are freed at once.
  void close();

 private:
  friend class BatchStorage;
  /// Makes a batch that already counts as in use.
  BatchStorage* make();
  void note_not_made();
  void give_back(BatchStorage* storage);
  bool may_lie_free();
  void drop_free();
  void free_block(BatchStorage* storage);

  const BatchLayout& layout_;
  const std::size_t rows_max_;
  const BatchMemory memory_;
  std::shared_ptr<FreeMemoryAccount> account_;  ///< null after close(), and if nobody counts
  std::vector<std::size_t> column_offsets_;
  std::size_t block_bytes_ = 0;
  std::mutex mutex_;
  std::vector<BatchStorage*> free_;
  std::size_t in_use_ = 0;
  std::size_t most_in_use_ = 0;  ///< at the same time
  bool closed_ = false;
};

class BatchStorage {
 public:
  BatchStorage(BatchPool& pool, std::byte* block)
      : pool_layout_(pool.layout_),
        offsets_(pool.column_offsets_),
        block_bytes_(pool.block_bytes_),
        block_(block) {}

  std::size_t size() const { return size_; }
  std::byte* column(std::size_t index) const { return block_ + offsets_[index]; }
  std::size_t bytes() const;
  /// Moves `count` rows to the end of the batch. Not after the batch was handed over.
  void append(void* rows, std::size_t count);
  /// Sets the number of rows, for rows that were constructed in place.
  void set_size(std::size_t rows) { size_ = rows; }
  /// Destroys the rows from `rows` on.
  void shrink(std::size_t rows);
  /// Destroys the rows at `gaps`, which ascend, and moves later rows up.
  void close_gaps(std::span<const std::size_t> gaps);

  void add_reference() { references_.fetch_add(1, std::memory_order_relaxed); }
  void drop_reference();

 private:
  friend class BatchPool;

  const BatchLayout& pool_layout_;
  const std::span<const std::size_t> offsets_;  ///< the pool's
  const std::size_t block_bytes_;
  std::byte* const block_;
  std::shared_ptr<BatchPool> pool_;  ///< while in use
  int last_core_ = 0;                ///< core of the thread that took it
  std::size_t size_ = 0;
  std::atomic<std::uint32_t> references_{0};
};

}  // namespace infeed::detail
