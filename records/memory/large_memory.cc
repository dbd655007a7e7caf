#include "infeed/detail/large_memory.h"

#include <cstdint>
#include <new>

#if defined(__linux__)
#include <sys/mman.h>
#include <unistd.h>
#endif
#if defined(__SSE2__)
#include <emmintrin.h>
#endif

namespace infeed::detail {
namespace {

constexpr std::size_t kHugePageBytes = std::size_t{2} << 20;
constexpr std::size_t kHugePagesFromBytes = 2 * kHugePageBytes;

/// The C library keeps the pages of a freed block for the next one, which blocks of unlike sizes don't
/// fit: ragged columns held 65 MiB at a limit of 24, of which 27 were in use.
constexpr std::size_t kGivenToSystemFromBytes = std::size_t{256} << 10;
// The C library maps blocks of this size one by one (DEFAULT_MMAP_THRESHOLD_MAX), and unmaps them.
constexpr std::size_t kGivenToSystemByItselfBytes = std::size_t{32} << 20;

/// Gives back the whole pages of a block that has some; the addresses stay with the allocator.
void give_pages_to_system([[maybe_unused]] std::byte* memory,
                          [[maybe_unused]] std::size_t bytes) noexcept {
#if defined(__linux__)
  const auto page_bytes = static_cast<std::uintptr_t>(::sysconf(_SC_PAGESIZE));
  const auto begin = reinterpret_cast<std::uintptr_t>(memory);
  const std::uintptr_t first_page = (begin + page_bytes - 1) / page_bytes * page_bytes;
  const std::uintptr_t end = (begin + bytes) / page_bytes * page_bytes;
  ::madvise(memory + (first_page - begin), end - first_page, MADV_DONTNEED);
#endif
}

std::align_val_t block_alignment(std::size_t bytes, std::size_t alignment) {
  const bool is_large = bytes >= kHugePagesFromBytes && alignment < kHugePageBytes;
  return std::align_val_t{is_large ? kHugePageBytes : alignment};
}

}  // namespace

std::byte* allocate_block_memory(std::size_t bytes, std::size_t alignment) noexcept {
  void* const memory = ::operator new(bytes, block_alignment(bytes, alignment), std::nothrow);
#if defined(__linux__)
  if (memory != nullptr && bytes >= kHugePagesFromBytes) ::madvise(memory, bytes, MADV_HUGEPAGE);
#endif
  return static_cast<std::byte*>(memory);
}

void free_block_memory(std::byte* memory, std::size_t bytes, std::size_t alignment) noexcept {
  if (bytes >= kGivenToSystemFromBytes && bytes < kGivenToSystemByItselfBytes) {
    give_pages_to_system(memory, bytes);
  }
  ::operator delete(memory, block_alignment(bytes, alignment));
}

void copy_large_value(std::byte* to, const std::byte* from, std::size_t bytes) noexcept {
  std::size_t at = 0;
#if defined(__SSE2__)
  constexpr std::size_t kLineBytes = 64;
  at = (0 - reinterpret_cast<std::uintptr_t>(to)) % kLineBytes;
  std::memcpy(to, from, at);
  for (; at + kLineBytes <= bytes; at += kLineBytes) {
    for (std::size_t i = at; i < at + kLineBytes; i += sizeof(__m128i)) {
      _mm_stream_si128(reinterpret_cast<__m128i*>(to + i),
                       _mm_loadu_si128(reinterpret_cast<const __m128i*>(from + i)));
    }
  }
  _mm_sfence();
#endif
  std::memcpy(to + at, from + at, bytes - at);
}

}  // namespace infeed::detail
