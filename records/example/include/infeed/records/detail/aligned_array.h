#pragma once

#include <algorithm>
#include <cstddef>
#include <memory>
#include <new>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

#include "infeed/records/batch_memory.h"

/// Memory of columns of sequences. Not meant to be used directly.
namespace infeed::detail {

/// An array of objects that are constructed one behind the other, from a 64-byte boundary on.
/// Unlike a std::vector it can grow by numbers that nobody has set, and stores a bool in a byte.
template <class U>
class AlignedArray {
 public:
  AlignedArray() = default;
  explicit AlignedArray(std::size_t capacity, BatchMemory memory = nullptr)
      : memory_(std::move(memory)) {
    reserve(capacity);
  }
  ~AlignedArray() { drop(); }
  AlignedArray(AlignedArray&& other) noexcept
      : data_(std::exchange(other.data_, nullptr)),
        size_(std::exchange(other.size_, 0)),
        capacity_(std::exchange(other.capacity_, 0)),
        memory_(other.memory_) {}
  AlignedArray& operator=(AlignedArray&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
    std::swap(capacity_, other.capacity_);
    std::swap(memory_, other.memory_);
    return *this;
  }

  void reserve(std::size_t capacity) {
    if (capacity <= capacity_) return;
    U* const data = allocated(capacity);
    std::uninitialized_move_n(data_, size_, data);
    drop();
    data_ = data;
    capacity_ = capacity;
  }
  template <class V>
  void push_back(V&& value) {
    make_room(1);
    ::new (static_cast<void*>(data_ + size_)) U(std::forward<V>(value));
    ++size_;
  }
  void append_copies(std::size_t count, const U& value) {
    make_room(count);
    std::uninitialized_fill_n(data_ + size_, count, value);
    size_ += count;
  }
  /// Moves the vector's values behind those in the array.
  void append(std::vector<U>& values) {
    if constexpr (std::is_same_v<U, bool>) {
      for (const bool value : values) push_back(value);
    } else {
      append_moved(std::span<U>(values));
    }
  }
  void append_moved(std::span<U> values) {
    make_room(values.size());
    std::uninitialized_move_n(values.data(), values.size(), data_ + size_);
    size_ += values.size();
  }
  /// Appends `count` elements. Numbers hold whatever was in their memory before.
  std::span<U> extend(std::size_t count) {
    make_room(count);
    std::uninitialized_default_construct_n(data_ + size_, count);
    size_ += count;
    return {data_ + size_ - count, count};
  }
  void truncate(std::size_t size) {
    std::destroy_n(data_ + size, size_ - size);
    size_ = size;
  }

  std::size_t size() const { return size_; }
  std::size_t capacity() const { return capacity_; }
  /// Returns the bytes of the block, and of the allocator's header.
  std::size_t held_bytes() const { return data_ == nullptr ? 0 : block_bytes(capacity_) + 16; }
  std::span<U> values() { return {data_, size_}; }
  std::span<const U> values() const { return {data_, size_}; }

 private:
  static constexpr std::size_t kAlignment = alignof(U) > 64 ? alignof(U) : 64;

  /// Bytes of a block: a multiple of the alignment, as g++ 12's pool resources align no others.
  static std::size_t block_bytes(std::size_t capacity) {
    return (capacity * sizeof(U) + kAlignment - 1) / kAlignment * kAlignment;
  }
  U* allocated(std::size_t capacity) const {
    if (memory_ == nullptr) {
      return static_cast<U*>(::operator new (capacity * sizeof(U), std::align_val_t{kAlignment}));
    }
    return static_cast<U*>(
        static_cast<void*>(array_memory(memory_, block_bytes(capacity), kAlignment)));
  }
  void drop() noexcept {
    if (data_ == nullptr) return;
    std::destroy_n(data_, size_);
    if (memory_ == nullptr) {
      ::operator delete (data_, std::align_val_t{kAlignment});
    } else {
      memory_->deallocate(data_, block_bytes(capacity_), kAlignment);
    }
  }

  void make_room(std::size_t count) {
    if (count > capacity_ - size_) reserve(std::max(size_ + count, 2 * capacity_));
  }

  U* data_ = nullptr;
  std::size_t size_ = 0;
  std::size_t capacity_ = 0;
  BatchMemory memory_;  ///< null: the system's
};

}  // namespace infeed::detail
