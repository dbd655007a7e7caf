#pragma once

#include <cassert>
#include <cstddef>
#include <memory>
#include <span>
#include <utility>

#include <infeed/error.h>
#include <infeed/pipeline/detail/held_bytes.h>
#include <infeed/pipeline/type_info.h>

/// Why: six stages called once per element cost 280 ns, called once for 64 elements 17 ns. So up to
/// 1,024 elements, or 16 KiB, move together. The engine carries elements in chunks, users never see
/// one: no result may depend on where one chunk ends and the next begins.
///
/// A chunk holds values in order. Its last slot may be an error, which takes the place of one
/// element.
///
/// Ownership: a chunk owns its memory and its values. It can be moved, not copied.
/// Thread-safety: none; a chunk belongs to one thread at a time.
namespace infeed {

/// An error that took the place of an element. It is shared because a cache hands it out again.
using ErrorPointer = std::shared_ptr<const Error>;

// In pulls of 256 numbers range, map and filter cost a fifth more, and a queue four times as much.
inline constexpr std::size_t kChunkElementsMax = 1024;
inline constexpr std::size_t kChunkBytesMax = 16 * 1024;
namespace detail {
/// The most bytes that the elements of a chunk own elsewhere: about this many, or one element.
inline constexpr std::uint64_t kChunkPayloadBytesMax = 64 * 1024;
}  // namespace detail

/// Returns how many elements of this type travel in one chunk.
constexpr std::size_t chunk_capacity(const TypeInfo& type) {
  const std::size_t fitting = kChunkBytesMax / (type.size == 0 ? 1 : type.size);
  return fitting == 0 ? 1 : (fitting < kChunkElementsMax ? fitting : kChunkElementsMax);
}

class Chunk {
 public:
  explicit Chunk(const TypeInfo& type) : Chunk(type, chunk_capacity(type)) {}
  Chunk(const TypeInfo& type, std::size_t capacity);
  ~Chunk();
  Chunk(Chunk&& other) noexcept;
  Chunk& operator=(Chunk&& other) noexcept;

  const TypeInfo& type() const { return *type_; }
  std::size_t capacity() const { return capacity_; }

  /// Returns the number of values, without the error slot.
  std::size_t size() const { return end_ - begin_; }
  bool has_error() const { return error_ != nullptr; }
  /// Returns the number of elements that the chunk stands for: the values and the error.
  std::size_t slots() const { return size() + (has_error() ? 1 : 0); }
  bool empty() const { return begin_ == end_ && error_ == nullptr; }

  /// Returns the address of the first value. The values lie next to each other.
  void* front() { return at(begin_); }
  const void* front() const { return at(begin_); }
  /// Returns the address of the i-th value.
  void* value(std::size_t i) { return at(begin_ + i); }
  const void* value(std::size_t i) const { return at(begin_ + i); }
  template <class T>
  std::span<T> values() {
    return {static_cast<T*>(front()), size()};
  }

  /// Room after the last value, and the address of that room: construct there, then call grow().
  std::size_t room() const { return capacity_ - end_; }
  void* back() { return at(end_); }
  void grow(std::size_t count) {
    assert(count <= room() && error_ == nullptr);
    end_ += count;
  }
  template <class T>
  void append(T&& element) {
    ::new (back()) std::remove_cvref_t<T>(std::forward<T>(element));
    grow(1);
  }

  /// Says that the first `count` values were moved away or destroyed.
  void drop_front(std::size_t count) {
    assert(count <= size());
    begin_ += count;
    if (begin_ != end_) return;
    begin_ = end_ = 0;
    held_.release();
  }
  /// Says that the last `count` values were moved away or destroyed.
  void drop_back(std::size_t count) {
    assert(count <= size());
    end_ -= count;
    if (begin_ == end_) held_.release();
  }

  /// Puts an error after the values; nothing can be appended after it.
  void set_error(ErrorPointer error) { error_ = std::move(error); }
  const ErrorPointer& error() const { return error_; }
  ErrorPointer take_error() { return std::exchange(error_, nullptr); }

  /// Moves up to `count` values from the front of `from` to the end of this chunk. Returns how
  /// many.
  std::size_t append_from(Chunk& from, std::size_t count);
  /// Destroys all values and the error.
  void clear();

  /// Returns the bytes of the values, payload included.
  std::size_t bytes() const { return type_->bytes(front(), size()); }
  /// Bytes that the chunk's owner has counted for its elements in the memory account. They move
  /// with the elements, and are given back when the last value is gone.
  detail::HeldBytes& held() { return held_; }

  void swap(Chunk& other) noexcept;

 private:
  void* at(std::size_t index) { return data_ + index * type_->size; }
  const void* at(std::size_t index) const { return data_ + index * type_->size; }

  const TypeInfo* type_;
  std::byte* data_;
  std::size_t capacity_;
  std::size_t begin_ = 0;
  std::size_t end_ = 0;
  ErrorPointer error_;
  detail::HeldBytes held_;
};

}  // namespace infeed
