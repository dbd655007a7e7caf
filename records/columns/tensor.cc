#include "infeed/records/tensor.h"

#include <atomic>
#include <cstring>
#include <fmt/format.h>
#include <limits>
#include <new>
#include <utility>

#include "columns/column_values.h"
#include "columns/content_hash.h"
#include "infeed/error.h"

namespace infeed {
namespace {

/// Memory that Tensors without items point at.
alignas(64) std::byte kNoItems[64] = {};

}  // namespace

namespace detail {

std::size_t checked_tensor_bytes(DType dtype, const Shape& shape) {
  if (dtype == DType::bytes) {
    throw Error(ErrorCode::invalid_argument,
                "bytes of different lengths are no items of a tensor; make a column of them by "
                "Column::of_bytes");
  }
  constexpr std::int64_t kBytesMax = std::numeric_limits<std::ptrdiff_t>::max();
  if (shape.items() > kBytesMax / static_cast<std::int64_t>(item_bytes(dtype))) {
    throw Error(ErrorCode::resource_exhausted,
                fmt::format("a tensor of {} of shape {} is larger than any memory",
                            to_string(dtype), shape.to_string()));
  }
  return static_cast<std::size_t>(shape.items()) * item_bytes(dtype);
}

}  // namespace detail

std::byte* detail::exported_data(const Tensor& tensor) { return tensor.data_; }

/// Tells by the values alone, so that a memory limit refuses the same batches in each run, whatever
/// lay in their blocks before.
std::size_t detail::held_bytes(const Tensor& tensor) {
  constexpr std::size_t kBesideBytes = 80;  // headers, and the reference count with the way back
  const std::size_t bytes = tensor.bytes();
  switch (tensor.memory_) {
    case Tensor::Memory::allocated:
      return held_bytes_of_copy(bytes);
    case Tensor::Memory::pooled:
      return TensorPool::block_bytes(bytes) + kBesideBytes;
    case Tensor::Memory::slice:
    case Tensor::Memory::adopted:
      break;
  }
  return bytes;
}

std::size_t detail::held_bytes_of_copy(std::size_t value_bytes) {
  constexpr std::size_t kBesideBytes = 48;  // headers, and the reference count
  return std::max<std::size_t>((value_bytes + 63) / 64 * 64, 64) + kBesideBytes;
}

using detail::checked_tensor_bytes;

Tensor::Tensor() noexcept : memory_(Memory::adopted), shape_({0}), data_(kNoItems) {}

Tensor::Tensor(Tensor&& other) noexcept
    : Tensor(other.dtype_, std::move(other.shape_), other.data_, std::move(other.owner_),
             other.memory_) {
  other.become_empty();
}

Tensor& Tensor::operator=(Tensor&& other) noexcept {
  if (this == &other) return *this;
  dtype_ = other.dtype_;
  memory_ = other.memory_;
  shape_ = std::move(other.shape_);
  data_ = other.data_;
  owner_ = std::move(other.owner_);
  other.become_empty();
  return *this;
}

/// Resets the members that moving the shape and the owner doesn't.
void Tensor::become_empty() noexcept {
  dtype_ = DType::uint8;
  memory_ = Memory::adopted;
  data_ = kNoItems;
}

Tensor::Tensor(DType dtype, Shape shape) : dtype_(dtype), shape_(std::move(shape)) {
  const std::size_t size_bytes = checked_tensor_bytes(dtype_, shape_);
  constexpr std::align_val_t kAlignment{64};
  void* const memory =
      ::operator new(std::max<std::size_t>(size_bytes, 1), kAlignment, std::nothrow);
  if (memory == nullptr) {
    throw Error(ErrorCode::resource_exhausted,
                fmt::format("there is no memory for a tensor of {} bytes", size_bytes));
  }
  data_ = static_cast<std::byte*>(memory);
  owner_ = std::shared_ptr<void>(memory, [](void* block) { ::operator delete(block, kAlignment); });
}

Tensor::Tensor(DType dtype, Shape shape, const TensorPool& pool)
    : Tensor(of_block(dtype, shape, pool.take(checked_tensor_bytes(dtype, shape)))) {}

Tensor Tensor::of_block(DType dtype, Shape shape, TensorPool::Block block) {
  const std::size_t size_bytes = checked_tensor_bytes(dtype, shape);
  if (size_bytes > block.bytes) {
    throw Error(ErrorCode::internal, fmt::format("a tensor of {} bytes is to lie in a block of {}",
                                                 size_bytes, block.bytes));
  }
  std::byte* const data = block.memory.get();
  return {dtype, std::move(shape), data, std::move(block.memory), Memory::pooled};
}

Tensor Tensor::copy_of(DType dtype, Shape shape, const void* values, std::size_t bytes) {
  Tensor tensor(dtype, std::move(shape));
  if (bytes != tensor.bytes()) {
    throw Error(
        ErrorCode::invalid_argument,
        fmt::format("{} values are given, but a tensor of shape {} has {}",
                    bytes / item_bytes(dtype), tensor.shape_.to_string(), tensor.shape_.items()));
  }
  if (bytes != 0) std::memcpy(tensor.writable_data(), values, bytes);
  return tensor;
}

Tensor Tensor::adopt(DType dtype, Shape shape, const void* data,
                     std::shared_ptr<const void> owner) {
  const std::size_t size_bytes = checked_tensor_bytes(dtype, shape);
  if (data == nullptr && size_bytes != 0) {
    throw Error(ErrorCode::invalid_argument,
                fmt::format("a tensor of {} bytes is to lie at a null pointer", size_bytes));
  }
  if (reinterpret_cast<std::uintptr_t>(data) % item_bytes(dtype) != 0) {
    throw Error(ErrorCode::invalid_argument,
                fmt::format("the memory begins at {}, where no {} may lie: it needs a multiple of "
                            "{} bytes; copy the values by Tensor::copy_of",
                            data, to_string(dtype), item_bytes(dtype)));
  }
  // Nobody writes there: an adopted tensor isn't writable, and is exported as read-only.
  auto* const bytes = data == nullptr ? kNoItems : static_cast<std::byte*>(const_cast<void*>(data));
  return {dtype, std::move(shape), bytes, std::move(owner), Memory::adopted};
}

bool Tensor::is_writable() const {
  if (memory_ == Memory::adopted || owner_.use_count() != 1) return false;
  // Orders the last reader's accesses on another thread before ours: it dropped its copy after
  // them.
  std::atomic_thread_fence(std::memory_order_acquire);
  return true;
}

std::byte* Tensor::writable_data() {
  if (!is_writable()) {
    throw Error(ErrorCode::failed_precondition,
                fmt::format("the tensor of {} of shape {} can't be written, as {}; make a new one",
                            to_string(dtype_), shape_.to_string(),
                            memory_ == Memory::adopted ? "its memory was adopted"
                                                       : "another one shares its memory"));
  }
  return data_;
}

void Tensor::fail_dtype(DType wanted) const {
  throw Error(ErrorCode::invalid_argument, fmt::format("the tensor holds {}, but {} is wanted",
                                                       to_string(dtype_), to_string(wanted)));
}

Tensor Tensor::slice(std::int64_t first, std::int64_t count) const {
  const std::int64_t rows = shape_.rank() == 0 ? -1 : shape_[0];
  if (rows < 0 || first < 0 || count < 0 || count > rows - first) {
    throw Error(ErrorCode::invalid_argument,
                fmt::format("{} rows from {} on are wanted of a tensor of shape {}", count, first,
                            shape_.to_string()));
  }
  Tensor result = *this;
  if (count == rows) return result;
  if (memory_ != Memory::adopted) result.memory_ = Memory::slice;
  result.shape_ = Shape(count, shape_.without_first());
  // Divides by no 0: `rows` exceeds `count` here.
  result.data_ += bytes() / static_cast<std::size_t>(rows) * first;
  return result;
}

Tensor Tensor::reshaped(Shape shape) const {
  if (shape.items() != shape_.items()) {
    throw Error(ErrorCode::invalid_argument,
                fmt::format("a tensor of shape {} can't become one of shape {}: they have {} and "
                            "{} items",
                            shape_.to_string(), shape.to_string(), shape_.items(), shape.items()));
  }
  Tensor result = *this;
  result.shape_ = std::move(shape);
  return result;
}

bool Tensor::operator==(const Tensor& other) const {
  return dtype_ == other.dtype_ && shape_ == other.shape_ &&
         std::memcmp(data_, other.data_, bytes()) == 0;
}

std::uint64_t Tensor::hash() const {
  detail::ContentHash hash;
  hash.add(static_cast<std::uint64_t>(dtype_));
  hash.add(shape_);
  hash.add_bytes(data_, bytes());
  return hash.value();
}

}  // namespace infeed
