#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <new>
#include <span>
#include <utility>

#include "infeed/error.h"
#include "infeed/records/tensor.h"

namespace infeed::detail {

/// Memory of a pool that grows until it becomes a Tensor. New bytes hold whatever was there before.
class GrowingBuffer {
 public:
  std::byte* data() const { return data_; }
  std::size_t size_bytes() const { return size_bytes_; }
  std::size_t capacity_bytes() const { return block_.bytes; }
  std::size_t spare_bytes() const { return block_.bytes - size_bytes_; }
  template <class T>
  std::size_t size() const {
    return size_bytes_ / sizeof(T);
  }
  template <class T>
  std::span<T> values() const {
    return {reinterpret_cast<T*>(data_), size<T>()};
  }

  /// Takes this block instead of one from the pool. The buffer must be empty.
  void adopt(TensorPool::Block block) {
    block_ = std::move(block);
    data_ = block_.memory.get();
  }
  void reserve(std::size_t bytes, const TensorPool& pool) {
    if (bytes > block_.bytes || data_ == nullptr) move_to(bytes, pool);
  }
  /// Appends `bytes` bytes.
  std::byte* extend(std::size_t bytes, const TensorPool& pool) {
    if (bytes > block_.bytes - size_bytes_) {
      move_to(std::max(size_bytes_ + bytes, 2 * block_.bytes), pool);
    }
    return data_ + std::exchange(size_bytes_, size_bytes_ + bytes);
  }
  template <class T>
  std::span<T> extend_by(std::size_t count, const TensorPool& pool) {
    return {reinterpret_cast<T*>(extend(count * sizeof(T), pool)), count};
  }
  void push_back(std::int64_t value, const TensorPool& pool) {
    extend_by<std::int64_t>(1, pool)[0] = value;
  }
  void truncate(std::size_t bytes) { size_bytes_ = bytes; }

  /// Makes a Tensor of the content, and leaves the buffer empty. If more than a quarter of the block
  /// that it needs would lie free beside it, as where rows are uneven, the content moves to a block
  /// of its size if there is one: an account counts no more than that. Throws what the pool throws,
  /// but not for a lack of memory.
  Tensor finish(DType dtype, Shape shape, const TensorPool& pool) {
    const std::size_t bytes = static_cast<std::size_t>(shape.items()) * item_bytes(dtype);
    const std::size_t needed = TensorPool::block_bytes(bytes);
    if (block_.bytes > needed + needed / 4) {
      size_bytes_ = bytes;
      try_move_to(bytes, pool);
    }
    data_ = nullptr;
    size_bytes_ = 0;
    return Tensor::of_block(dtype, std::move(shape), std::exchange(block_, {}));
  }

 private:
  /// Leaves the content where it is if there is no memory: the larger block holds it, too.
  void try_move_to(std::size_t bytes, const TensorPool& pool) try {
    move_to(bytes, pool);
  } catch (const std::bad_alloc&) {
  } catch (const Error& error) {
    if (error.code() != ErrorCode::resource_exhausted) throw;
  }
  /// Moves the content to a block of `bytes` bytes.
  void move_to(std::size_t bytes, const TensorPool& pool) {
    TensorPool::Block block = pool.take(bytes);
    if (size_bytes_ != 0) std::memcpy(block.memory.get(), data_, size_bytes_);
    block_ = std::move(block);
    data_ = block_.memory.get();
  }

  std::byte* data_ = nullptr;
  std::size_t size_bytes_ = 0;
  TensorPool::Block block_;
};

}  // namespace infeed::detail
