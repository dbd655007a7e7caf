#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <new>

#if defined(__linux__)
#include <sys/mman.h>
#endif
#if defined(__SSE2__)
#include <emmintrin.h>
#endif

/// Memory for whole batches, and large values on their way into it. Not meant to be used directly.
namespace infeed::detail {

inline constexpr std::size_t kHugePageBytes = std::size_t{2} << 20;
inline constexpr std::size_t kLargeBlockBytes = 2 * kHugePageBytes;

inline std::align_val_t block_alignment(std::size_t bytes, std::size_t alignment) {
  const bool is_large = bytes >= kLargeBlockBytes && alignment < kHugePageBytes;
  return std::align_val_t{is_large ? kHugePageBytes : alignment};
}

/// Null where there is none. A large block asks for huge pages: 14 MB are 3,500 page faults
/// otherwise, and rows of 112 KiB come a twelfth slower.
inline std::byte* allocate_block_memory(std::size_t bytes, std::size_t alignment) noexcept {
  void* const memory = ::operator new(bytes, block_alignment(bytes, alignment), std::nothrow);
#if defined(__linux__)
  if (memory != nullptr && bytes >= kLargeBlockBytes) ::madvise(memory, bytes, MADV_HUGEPAGE);
#endif
  return static_cast<std::byte*>(memory);
}
/// With the sizes that it was asked for.
inline void free_block_memory(std::byte* memory, std::size_t bytes,
                              std::size_t alignment) noexcept {
  ::operator delete(memory, block_alignment(bytes, alignment));
}

/// As memcpy. A large value goes past the caches, since the batch that it goes to is larger than
/// they are: a tenth quicker for 112 KiB, as its place needn't be read first.
inline void copy_value(void* to, const void* from, std::size_t bytes) {
#if defined(__SSE2__)
  constexpr std::size_t kLargeValueBytes = std::size_t{64} << 10;
  constexpr std::size_t kLineBytes = 64;
  if (bytes >= kLargeValueBytes) {
    auto* out = static_cast<char*>(to);
    const auto* in = static_cast<const char*>(from);
    const std::size_t head = (0 - reinterpret_cast<std::uintptr_t>(to)) % kLineBytes;
    std::memcpy(out, in, head);
    std::size_t at = head;
    for (; at + kLineBytes <= bytes; at += kLineBytes) {
      for (std::size_t i = at; i < at + kLineBytes; i += sizeof(__m128i)) {
        _mm_stream_si128(reinterpret_cast<__m128i*>(out + i),
                         _mm_loadu_si128(reinterpret_cast<const __m128i*>(in + i)));
      }
    }
    _mm_sfence();
    std::memcpy(out + at, in + at, bytes - at);
    return;
  }
#endif
  std::memcpy(to, from, bytes);
}

}  // namespace infeed::detail
