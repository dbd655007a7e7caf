#include "pipeline/drawn_whole/counting_allocator.h"

#include <atomic>
#include <cerrno>
#include <cstddef>
#include <malloc.h>

#include "sanitizers.h"

namespace infeed::test {

static constexpr bool kIsSanitized = test::kAddressSanitizer || test::kThreadSanitizer;

bool allocator_has_peak() { return !kIsSanitized; }

}  // namespace infeed::test

#if defined(INFEED_DRAWN_SANITIZED)

extern "C" std::size_t __sanitizer_get_current_allocated_bytes();

namespace infeed::test {

std::uint64_t live_bytes() { return __sanitizer_get_current_allocated_bytes(); }
std::uint64_t peak_bytes() { return 0; }
void reset_peak_bytes() {}

}  // namespace infeed::test

#else

namespace infeed::test {
namespace {

std::atomic<std::uint64_t> live = 0;
std::atomic<std::uint64_t> peak = 0;

void* counted(void* memory) {
  if (memory == nullptr) return nullptr;
  const std::size_t bytes = malloc_usable_size(memory);
  const std::uint64_t now = live.fetch_add(bytes, std::memory_order_relaxed) + bytes;
  std::uint64_t highest = peak.load(std::memory_order_relaxed);
  while (now > highest && !peak.compare_exchange_weak(highest, now, std::memory_order_relaxed)) {
  }
  return memory;
}

void uncount(void* memory) {
  if (memory == nullptr) return;
  live.fetch_sub(malloc_usable_size(memory), std::memory_order_relaxed);
}

}  // namespace

std::uint64_t live_bytes() { return live.load(std::memory_order_relaxed); }
std::uint64_t peak_bytes() { return peak.load(std::memory_order_relaxed); }
void reset_peak_bytes() { peak.store(live.load()); }

}  // namespace infeed::test

// glibc offers its own functions by these names to programs that replace malloc. NOLINTBEGIN
extern "C" {

void* __libc_malloc(std::size_t);
void* __libc_calloc(std::size_t, std::size_t);
void* __libc_realloc(void*, std::size_t);
void* __libc_memalign(std::size_t, std::size_t);
void __libc_free(void*);

void* malloc(std::size_t bytes) noexcept { return infeed::test::counted(__libc_malloc(bytes)); }
void* calloc(std::size_t count, std::size_t bytes) noexcept {
  return infeed::test::counted(__libc_calloc(count, bytes));
}
void* realloc(void* memory, std::size_t bytes) noexcept {
  const std::size_t before = memory == nullptr ? 0 : malloc_usable_size(memory);
  void* const moved = __libc_realloc(memory, bytes);
  if (moved != nullptr || bytes == 0) infeed::test::live.fetch_sub(before);
  return infeed::test::counted(moved);
}
void free(void* memory) noexcept {
  infeed::test::uncount(memory);
  __libc_free(memory);
}
void* memalign(std::size_t alignment, std::size_t bytes) noexcept {
  return infeed::test::counted(__libc_memalign(alignment, bytes));
}
void* aligned_alloc(std::size_t alignment, std::size_t bytes) noexcept {
  return infeed::test::counted(__libc_memalign(alignment, bytes));
}
int posix_memalign(void** memory, std::size_t alignment, std::size_t bytes) noexcept {
  void* const made = infeed::test::counted(__libc_memalign(alignment, bytes));
  if (made == nullptr) return ENOMEM;
  *memory = made;
  return 0;
}

}  // extern "C". NOLINTEND

#endif
