#pragma once

#include <algorithm>
#include <cstddef>
#include <memory>
#include <new>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

/// Memory of columns of sequences. Not meant to be used directly.
namespace infeed::detail {

/// An array of objects that are constructed one behind the other, from a 64-byte boundary on.
/// Unlike a std::vector it can grow by numbers that nobody has set, and stores a bool in a byte.
template <class U>
class AlignedArray {
 public:
  AlignedArray() = default;
  explicit AlignedArray(std::size_t capacity) { reserve(capacity); }
  ~AlignedArray() {
    std::destroy_n(data_, size_);
    ::operator delete(data_, kAlignment);
  }
  AlignedArray(AlignedArray&& other) noexcept
      : data_(std::exchange(other.data_, nullptr)),
        size_(std::exchange(other.size_, 0)),
        capacity_(std::exchange(other.capacity_, 0)) {}
  AlignedArray& operator=(AlignedArray&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
    std::swap(capacity_, other.capacity_);
    return *this;
  }

  void reserve(std::size_t capacity) {
    if (capacity <= capacity_) return;
    U* const data = static_cast<U*>(::operator new(capacity * sizeof(U), kAlignment));
    std::uninitialized_move_n(data_, size_, data);
    std::destroy_n(data_, size_);
    ::operator delete(data_, kAlignment);
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
  std::span<U> values() { return {data_, size_}; }
  std::span<const U> values() const { return {data_, size_}; }

 private:
  static constexpr std::align_val_t kAlignment{alignof(U) > 64 ? alignof(U) : 64};

  void make_room(std::size_t count) {
    if (count > capacity_ - size_) reserve(std::max(size_ + count, 2 * capacity_));
  }

  U* data_ = nullptr;
  std::size_t size_ = 0;
  std::size_t capacity_ = 0;
};

}  // namespace infeed::detail
