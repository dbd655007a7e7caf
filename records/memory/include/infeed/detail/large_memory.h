#pragma once

#include <cstddef>
#include <cstring>

/// Memory for whole batches, and copies of large values into it. Not meant to be used directly.
namespace infeed::detail {

/// Allocates memory; returns null where there is none. A large block asks for huge pages: otherwise
/// 14 MB are 3,500 page faults, and rows of 112 KiB come a twelfth slower.
std::byte* allocate_block_memory(std::size_t bytes, std::size_t alignment) noexcept;
/// Frees memory. Takes the same sizes as the allocation.
void free_block_memory(std::byte* memory, std::size_t bytes, std::size_t alignment) noexcept;

inline constexpr std::size_t kLargeValueBytes = std::size_t{64} << 10;

void copy_large_value(std::byte* to, const std::byte* from, std::size_t bytes) noexcept;

/// Copies as memcpy does. A large value bypasses the caches, since its batch is larger than they
/// are: a tenth quicker for 112 KiB, as the target needn't be read first.
inline void copy_value(void* to, const void* from, std::size_t bytes) {
  // g++ makes "rep movsq" of a copy of known size that is too long to be written out. For 784 bytes
  // that takes twice as long as the C library's copy by vectors.
  constexpr std::size_t kWrittenOutBytesMax = 128;
#if defined(__GNUC__)
  if (bytes > kWrittenOutBytesMax) asm("" : "+r"(bytes));
#endif
  if (bytes < kLargeValueBytes) {
    std::memcpy(to, from, bytes);
  } else {
    copy_large_value(static_cast<std::byte*>(to), static_cast<const std::byte*>(from), bytes);
  }
}

}  // namespace infeed::detail
