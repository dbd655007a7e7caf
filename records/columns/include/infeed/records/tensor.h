#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "infeed/records/dtype.h"
#include "infeed/records/shape.h"
#include "infeed/records/tensor_pool.h"

/// Why: numbers whose type and shape are known only when the program runs, in memory that is shared
/// and not copied. Columns of a batch are made of Tensors, and NumPy, JAX and Arrow take them.
///
///     infeed::Tensor images(infeed::DType::float32, {2, 3});     // unset
///     for (float& pixel : images.writable<float>()) pixel = 0.5F;
///     infeed::Tensor copy = images;                              // the same memory
///     std::span<const float> pixels = copy.slice(1, 1).values<float>();
///
/// Layout: row by row (C order), without gaps. Memory that infeed allocates begins at a 64-byte
/// boundary; a slice or adopted memory begins anywhere an item may lie.
///
/// Ownership: copies and slices share the memory, which is freed (or goes back to its pool) with
/// the last of them. It may be written as long as only one Tensor has it: see writable(). Adopted
/// memory belongs to its owner, which is kept alive, and is never written.
///
/// Errors: invalid_argument that says what was found and what was expected; resource_exhausted when
/// there is no memory. Thread-safety: any thread may read, copy and drop Tensors of one memory.
namespace infeed {

class Tensor;
namespace detail {
/// Returns the values for a struct without const. Whoever gets it must say that they are read-only.
std::byte* exported_data(const Tensor& tensor);
/// Returns the bytes of memory that it keeps: the values, and what the allocator and the owner add,
/// which is more than the values where they are few. Slices and adopted memory count as their values.
std::size_t held_bytes(const Tensor& tensor);
/// Returns the bytes that a copy of so many bytes of values, in memory of its own, of no pool, keeps.
std::size_t held_bytes_of_copy(std::size_t value_bytes);
}  // namespace detail

class Tensor {
 public:
  /// Makes a uint8 Tensor without items, of shape [0]. A Tensor that was moved from is one, too.
  Tensor() noexcept;
  Tensor(const Tensor&) = default;
  Tensor(Tensor&& other) noexcept;
  Tensor& operator=(const Tensor&) = default;
  Tensor& operator=(Tensor&& other) noexcept;
  ~Tensor() = default;
  /// Makes a Tensor whose values nobody has set. `dtype` must not be bytes.
  Tensor(DType dtype, Shape shape);
  Tensor(DType dtype, Shape shape, const TensorPool& pool);

  /// Copies values. There must be as many as the shape has items.
  template <class T>
  static Tensor copy_of(Shape shape, std::span<const T> values) {
    return copy_of(dtype_of<T>(), std::move(shape), values.data(), values.size_bytes());
  }
  template <class T>
  static Tensor copy_of(Shape shape, std::initializer_list<T> values) {
    return copy_of(std::move(shape), std::span<const T>(values.begin(), values.size()));
  }
  /// Adopts values that lie row by row in the caller's memory, without a copy. `owner` is kept
  /// until their last Tensor is gone, and the values must not change until then.
  ///
  ///     auto pixels = std::make_shared<std::vector<float>>(784);
  ///     infeed::Tensor image =
  ///         infeed::Tensor::adopt(infeed::DType::float32, {784}, pixels->data(), pixels);
  static Tensor adopt(DType dtype, Shape shape, const void* data,
                      std::shared_ptr<const void> owner);

  DType dtype() const { return dtype_; }
  const Shape& shape() const { return shape_; }
  /// Bytes of the values.
  std::size_t bytes() const {
    return static_cast<std::size_t>(shape_.items()) * item_bytes(dtype_);
  }
  /// First byte of the values; never null.
  const std::byte* data() const { return data_; }

  /// Returns all values, row by row. T must be the type of dtype().
  template <class T>
  std::span<const T> values() const {
    if (dtype_of<T>() != dtype_) fail_dtype(dtype_of<T>());
    return {reinterpret_cast<const T*>(data_), static_cast<std::size_t>(shape_.items())};
  }
  /// Returns the values for writing. Throws failed_precondition when a copy or a slice shares the
  /// memory, or it was adopted: memory that somebody may be reading never changes.
  template <class T>
  std::span<T> writable() {
    if (dtype_of<T>() != dtype_) fail_dtype(dtype_of<T>());
    return {reinterpret_cast<T*>(writable_data()), static_cast<std::size_t>(shape_.items())};
  }
  std::span<std::byte> writable_bytes() { return {writable_data(), bytes()}; }
  /// True if writable() succeeds.
  bool is_writable() const;

  /// Returns `count` rows of axis 0 from row `first` on, in the same memory.
  Tensor slice(std::int64_t first, std::int64_t count) const;
  /// Returns the same items in the same memory with another shape, which must have as many.
  Tensor reshaped(Shape shape) const;

  /// Compares dtype, shape and bytes: a NaN equals itself, and 0 does not equal -0.
  bool operator==(const Tensor& other) const;
  /// Returns a hash of the parts that operator== compares, wherever they lie. It may differ in
  /// another version of infeed.
  std::uint64_t hash() const;

  /// The owner that keeps the memory alive, for handing on to another library.
  const std::shared_ptr<const void>& owner() const { return owner_; }

  /// Makes a Tensor of a block of a pool whose front was filled with values of `shape`.
  static Tensor of_block(DType dtype, Shape shape, TensorPool::Block block);

 private:
  friend std::byte* detail::exported_data(const Tensor& tensor);
  friend std::size_t detail::held_bytes(const Tensor& tensor);
  enum class Memory : std::uint8_t { allocated, pooled, slice, adopted };

  Tensor(DType dtype, Shape shape, std::byte* data, std::shared_ptr<const void> owner,
         Memory memory) noexcept
      : dtype_(dtype),
        memory_(memory),
        shape_(std::move(shape)),
        data_(data),
        owner_(std::move(owner)) {}
  void become_empty() noexcept;
  static Tensor copy_of(DType dtype, Shape shape, const void* values, std::size_t bytes);
  std::byte* writable_data();
  [[noreturn]] void fail_dtype(DType wanted) const;

  DType dtype_ = DType::uint8;
  Memory memory_ = Memory::allocated;
  Shape shape_;
  std::byte* data_ = nullptr;  ///< adopted memory is never written
  std::shared_ptr<const void> owner_;
};

}  // namespace infeed
