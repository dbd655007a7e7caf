#include "batch/batch_storage.h"

#include <algorithm>
#include <fmt/format.h>

#include <infeed/detail/current_core.h>
#include <infeed/error.h>
#include <infeed/pipeline/detail/batch_filler.h>

#include "engine/move_values.h"

namespace infeed::detail {
namespace {

// Two free blocks are always kept if there is memory: one comes back while another is taken. More
// are kept only up to the most blocks in use at once, and within these limits. When only two free
// blocks of 14 MB were kept, the third was given back to the system and taken again 60 times in
// three seconds, which cost a quarter of the rate.
constexpr std::size_t kFreeBlocksMin = 2;
constexpr std::size_t kFreeBlocksMax = 64;
constexpr std::size_t kFreeBytesMax = std::size_t{64} << 20;

/// Returns the alignment of a block's columns: a cache line, or more for an over-aligned field.
std::size_t alignment_of(const BatchLayout& layout) {
  std::size_t alignment = 64;
  for (const BatchLayout::Column& column : layout.columns) {
    alignment = std::max(alignment, column.type->alignment);
  }
  return alignment;
}

/// Counts free blocks as best-effort memory.
class FreeMemory final : public FreeMemoryAccount {
 public:
  explicit FreeMemory(MemoryAccount& account) : account_(account) {}

  bool try_keep(std::size_t bytes) noexcept override {
    return account_.try_reserve_best_effort(bytes);
  }
  void let_go(std::size_t bytes) noexcept override { account_.release_best_effort(bytes); }

 private:
  MemoryAccount& account_;
};

}  // namespace

std::shared_ptr<FreeMemoryAccount> free_memory_of(MemoryAccount& memory) {
  return std::make_shared<FreeMemory>(memory);
}

BatchReference::BatchReference(const BatchReference& other) noexcept : storage_(other.storage_) {
  if (storage_ != nullptr) storage_->add_reference();
}
BatchReference::~BatchReference() {
  if (storage_ != nullptr) storage_->drop_reference();
}
std::size_t BatchReference::size() const { return storage_ == nullptr ? 0 : storage_->size(); }
void* BatchReference::column(std::size_t index) const {
  return storage_ == nullptr ? nullptr : storage_->column(index);
}
std::size_t BatchReference::bytes() const { return storage_ == nullptr ? 0 : storage_->bytes(); }

BatchPool::BatchPool(const BatchLayout& layout, std::size_t rows_max, BatchMemory memory,
                     std::shared_ptr<FreeMemoryAccount> account)
    : layout_(layout),
      rows_max_(rows_max),
      memory_(std::move(memory)),
      account_(std::move(account)) {
  const std::size_t alignment = alignment_of(layout);
  for (const BatchLayout::Column& column : layout.columns) {
    column_offsets_.push_back(block_bytes_);
    block_bytes_ += (column.type->size * rows_max + alignment - 1) / alignment * alignment;
  }
  // All free blocks of such a size come to 4 MiB at most. Counting each would cost a batch of
  // integers a fifth of its time.
  if (block_bytes_ <= kChunkPayloadBytesMax) account_ = nullptr;
}

BatchPool::~BatchPool() { close(); }

void BatchPool::close() {
  const std::lock_guard lock(mutex_);
  closed_ = true;
  drop_free();
}

void BatchPool::drop_free() {
  if (free_.empty()) return;
  if (account_ != nullptr) account_->let_go(free_.size() * block_bytes_);
  for (BatchStorage* storage : free_) free_block(storage);
  free_.clear();
}

BatchStorage* BatchPool::make() {
  std::byte* block = nullptr;
  try {
    block = allocate_batch_memory(memory_, block_bytes_, alignment_of(layout_));
    if (block != nullptr) return new BatchStorage(*this, block);
  } catch (...) {
    if (block != nullptr) {
      free_batch_memory(memory_, block, block_bytes_, alignment_of(layout_));
    }
    note_not_made();
    throw;
  }
  note_not_made();
  throw Error(ErrorCode::resource_exhausted,
              fmt::format("batch: there is no memory for a batch of {} rows ({} bytes){}; make it "
                          "smaller",
                          rows_max_, block_bytes_, where_none_is(memory_)));
}

void BatchPool::note_not_made() {
  const std::lock_guard lock(mutex_);
  --in_use_;
}

void BatchPool::free_block(BatchStorage* storage) {
  std::byte* const block = storage->block_;
  delete storage;
  free_batch_memory(memory_, block, block_bytes_, alignment_of(layout_));
}

BatchReference BatchPool::take() {
  BatchStorage* storage = nullptr;
  const int core = current_core();
  {
    const std::lock_guard lock(mutex_);
    storage = take_warmest(
        free_, [core](const BatchStorage* had) { return had->last_core_ == core; },
        [](const BatchStorage*) { return true; });
    most_in_use_ = std::max(most_in_use_, ++in_use_);
    if (storage != nullptr && account_ != nullptr) account_->let_go(block_bytes_);
  }
  if (storage == nullptr) {
    storage = make();
  }
  storage->pool_ = shared_from_this();
  storage->last_core_ = core;
  storage->references_.store(1, std::memory_order_relaxed);
  return BatchReference(storage);
}

void BatchPool::give_back(BatchStorage* storage) {
  {
    const std::lock_guard lock(mutex_);
    --in_use_;
    if (may_lie_free()) {
      free_.push_back(storage);
      return;
    }
  }
  free_block(storage);
}

/// Returns true if one more block may lie free. If memory is short no block may: others need the
/// room.
bool BatchPool::may_lie_free() {
  const std::size_t there = free_.size() + in_use_;
  const bool fits =
      free_.size() < kFreeBlocksMin || (there < most_in_use_ && free_.size() < kFreeBlocksMax &&
                                        (free_.size() + 1) * block_bytes_ <= kFreeBytesMax);
  if (closed_ || !fits) return false;
  if (account_ == nullptr || account_->try_keep(block_bytes_)) return true;
  drop_free();
  return false;
}

void BatchStorage::drop_reference() {
  if (references_.fetch_sub(1, std::memory_order_acq_rel) != 1) return;
  shrink(0);
  const std::shared_ptr<BatchPool> pool = std::move(pool_);
  pool->give_back(this);
}

void BatchStorage::shrink(std::size_t rows) {
  for (std::size_t i = 0; i < offsets_.size(); ++i) {
    const TypeInfo& type = *pool_layout_.columns[i].type;
    type.destroy(column(i) + rows * type.size, size_ - rows);
  }
  size_ = rows;
}

void BatchStorage::close_gaps(std::span<const std::size_t> gaps) {
  for (std::size_t i = 0; i < offsets_.size(); ++i) {
    const TypeInfo& type = *pool_layout_.columns[i].type;
    std::byte* const rows = column(i);
    std::size_t to = gaps.front();
    for (std::size_t g = 0; g < gaps.size(); ++g) {
      type.destroy(rows + gaps[g] * type.size, 1);
      const std::size_t end = g + 1 < gaps.size() ? gaps[g + 1] : size_;
      // One at a time, because the places overlap.
      for (std::size_t from = gaps[g] + 1; from < end; ++from, ++to) {
        type.relocate(rows + to * type.size, rows + from * type.size, 1);
      }
    }
  }
  size_ -= gaps.size();
}

std::size_t BatchStorage::bytes() const {
  constexpr std::size_t kAllocatorBytes = 32;  // headers of the block and of this object
  std::size_t total = block_bytes_ + sizeof(*this) + kAllocatorBytes;
  for (std::size_t i = 0; i < offsets_.size(); ++i) {
    const TypeInfo& type = *pool_layout_.columns[i].type;
    if (type.payload_bytes_run != nullptr) total += type.payload_bytes_run(column(i), size_);
  }
  return total;
}

void BatchStorage::append(void* rows, std::size_t count) {
  const std::size_t row_bytes = pool_layout_.row->size;
  for (std::size_t i = 0; i < offsets_.size(); ++i) {
    const TypeInfo& type = *pool_layout_.columns[i].type;
    std::byte* const to = column(i) + size_ * type.size;
    std::byte* const from = static_cast<std::byte*>(rows) + pool_layout_.columns[i].offset;
    if (!pool_layout_.is_struct) {
      type.relocate(to, from, count);
      continue;
    }
    with_size(type, [&](auto size) {
      constexpr std::size_t kSize = decltype(size)::value;
      for (std::size_t k = 0; k < count; ++k) {
        move_one<kSize>(type, to + k * type.size, from + k * row_bytes);
      }
    });
  }
  size_ += count;
}

}  // namespace infeed::detail
