#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>

/// Why: a file of small records is read in large blocks, and a copy per record would cost more than
/// checking its CRC. A Record is a view of its bytes inside the block that they were read into; the
/// block is reference-counted and lives as long as any record of it.
///
///     infeed::Record record("hello");         // bytes of its own
///     std::string_view bytes = record.bytes();  // valid while `record` or a copy of it lives
///
/// Copy: one relaxed atomic increment. Move: four words, no atomic; an object that was moved from
/// is empty, and copying the bytes of the object and forgetting the original is a move as well
/// (trivially relocatable).
///
/// Memory: one record keeps its whole block (RecordReaderOptions::block_bytes) alive. Whoever keeps
/// few records out of many for long should keep `record.detached()`.
///
/// Thread-safety: a value; copies of one record may be used and destroyed by any threads at once.
namespace infeed {

namespace detail {

/// Bytes of one stream (a file, decompressed). What else belongs to it is private to the module.
struct Block {
  std::atomic<std::uint64_t> references{1};
  char* data = nullptr;
  std::size_t capacity_bytes = 0;
  std::uint64_t stream_offset = 0;  // where data[0] lies
};

/// The last reference is gone.
void free_block(Block* block) noexcept;
std::string_view block_file(const Block& block) noexcept;

inline void drop_block(Block* block, std::uint64_t count = 1) noexcept {
  // A reader hands out many references at once, so "none is left" is seen without a locked write.
  if (block->references.load(std::memory_order_acquire) == count ||
      block->references.fetch_sub(count, std::memory_order_acq_rel) == count) {
    free_block(block);
  }
}

}  // namespace detail

class Record {
 public:
  static constexpr std::uint64_t kNoNumber = ~std::uint64_t{0};

  /// No bytes, no place.
  Record() noexcept = default;
  /// A copy of `bytes` in a block of its own, without a file.
  explicit Record(std::string_view bytes);

  Record(const Record& other) noexcept
      : data_(other.data_), size_(other.size_), number_(other.number_), block_(other.block_) {
    if (block_ != nullptr) block_->references.fetch_add(1, std::memory_order_relaxed);
  }
  Record(Record&& other) noexcept
      : data_(std::exchange(other.data_, nullptr)),
        size_(std::exchange(other.size_, 0)),
        number_(std::exchange(other.number_, kNoNumber)),
        block_(std::exchange(other.block_, nullptr)) {}
  Record& operator=(const Record& other) noexcept {
    Record copy(other);
    swap(copy);
    return *this;
  }
  Record& operator=(Record&& other) noexcept {
    Record moved(std::move(other));
    swap(moved);
    return *this;
  }
  ~Record() {
    if (block_ != nullptr) detail::drop_block(block_);
  }

  std::string_view bytes() const noexcept { return {data_, size_}; }
  std::size_t size() const noexcept { return size_; }
  bool empty() const noexcept { return size_ == 0; }

  /// A part of this record that keeps the block alive by itself. `part` must lie inside bytes().
  Record slice(std::string_view part) const noexcept {
    Record record(*this);
    record.data_ = part.data();
    record.size_ = part.size();
    return record;
  }
  /// The same bytes, from the same place, in a block of their own.
  Record detached() const;

  /// Where it came from; empty for a record made from own bytes.
  std::string_view file() const noexcept {
    return block_ == nullptr ? std::string_view() : detail::block_file(*block_);
  }
  /// Number in its file, from 0.
  std::optional<std::uint64_t> number() const noexcept {
    return number_ == kNoNumber ? std::nullopt : std::optional(number_);
  }
  /// The place of the first payload byte in its file; in a compressed file it is counted in
  /// decompressed bytes.
  std::optional<std::uint64_t> offset() const noexcept {
    if (number_ == kNoNumber || block_ == nullptr) return std::nullopt;  // no file, or no bytes
    return block_->stream_offset + static_cast<std::uint64_t>(data_ - block_->data);
  }

  void swap(Record& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
    std::swap(number_, other.number_);
    std::swap(block_, other.block_);
  }

  /// For readers that learn only later how many records were before this one.
  void renumber(std::uint64_t number) noexcept { number_ = number; }
  friend void destroy_elements(Record* records, std::size_t count) noexcept;
  /// For readers: takes over one reference that the caller has counted already.
  static Record adopt(detail::Block* block, std::string_view bytes, std::uint64_t number) noexcept {
    Record record;
    record.data_ = bytes.data();
    record.size_ = bytes.size();
    record.number_ = number;
    record.block_ = block;
    return record;
  }

 private:
  const char* data_ = nullptr;
  std::size_t size_ = 0;
  std::uint64_t number_ = kNoNumber;
  detail::Block* block_ = nullptr;
};

static_assert(sizeof(Record) == 32);

/// Destroys `count` records, as std::destroy_n() does, with one count down for each block that they
/// lie in rather than for each record. All records of a mapped file lie in one block: counting it
/// down for each took a sixth of the time of shuffled images in batches.
void destroy_elements(Record* records, std::size_t count) noexcept;

}  // namespace infeed
