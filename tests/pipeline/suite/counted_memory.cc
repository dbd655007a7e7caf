#include "pipeline/suite/counted_memory.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstdlib>
#include <mutex>
#include <new>

#if defined(__has_feature)
#define INFEED_HAS_FEATURE(feature) __has_feature(feature)
#else
#define INFEED_HAS_FEATURE(feature) 0
#endif
#if defined(__SANITIZE_THREAD__) || INFEED_HAS_FEATURE(thread_sanitizer)
// Nothing counts.
#elif defined(__SANITIZE_ADDRESS__) || INFEED_HAS_FEATURE(address_sanitizer)
#define INFEED_COUNTS_BY_HOOKS 1
#elif defined(__GLIBC__)
#define INFEED_COUNTS_BY_REPLACING 1
#include <malloc.h>
#endif

namespace infeed::test {
namespace {

std::atomic<std::int64_t> bytes_now{0};
std::atomic<std::int64_t> bytes_peak{0};

[[maybe_unused]] void count(std::int64_t bytes) {
  const std::int64_t now = bytes_now.fetch_add(bytes, std::memory_order_relaxed) + bytes;
  std::int64_t peak = bytes_peak.load(std::memory_order_relaxed);
  while (now > peak && !bytes_peak.compare_exchange_weak(peak, now, std::memory_order_relaxed)) {
  }
}

[[maybe_unused]] void count_off(std::int64_t bytes) {
  bytes_now.fetch_sub(bytes, std::memory_order_relaxed);
}

std::uint64_t not_negative(std::int64_t bytes) {
  return bytes < 0 ? 0 : static_cast<std::uint64_t>(bytes);
}

}  // namespace

std::uint64_t counted_bytes() { return not_negative(bytes_now.load(std::memory_order_relaxed)); }
std::uint64_t counted_peak_bytes() {
  return not_negative(bytes_peak.load(std::memory_order_relaxed));
}
void restart_counted_peak() {
  bytes_peak.store(bytes_now.load(std::memory_order_relaxed), std::memory_order_relaxed);
}

#if defined(INFEED_COUNTS_BY_HOOKS)
// From <sanitizer/allocator_interface.h>, which Debian's GCC lacks.
extern "C" {
std::size_t __sanitizer_get_allocated_size(const volatile void* memory);
int __sanitizer_install_malloc_and_free_hooks(void (*malloc_hook)(const volatile void* memory,
                                                                  std::size_t bytes),
                                              void (*free_hook)(const volatile void* memory));
}

namespace {

void note_allocation(const volatile void*, std::size_t bytes) {
  count(static_cast<std::int64_t>(bytes));
}
void note_free(const volatile void* memory) {
  if (memory == nullptr) return;
  // Memory from before the hooks counts for nothing, and is little.
  count_off(
      static_cast<std::int64_t>(__sanitizer_get_allocated_size(const_cast<const void*>(memory))));
}

[[maybe_unused]] const int hooks_installed =
    __sanitizer_install_malloc_and_free_hooks(&note_allocation, &note_free);

}  // namespace
#endif

}  // namespace infeed::test

#if defined(INFEED_COUNTS_BY_REPLACING)

extern "C" {
void* __libc_malloc(std::size_t bytes);
void* __libc_calloc(std::size_t count, std::size_t bytes);
void* __libc_realloc(void* memory, std::size_t bytes);
void* __libc_memalign(std::size_t alignment, std::size_t bytes);
void __libc_free(void* memory);
}

namespace infeed::test {
namespace {

constexpr std::size_t kPageBytes = 4096;

/// Unlike a mutex it surely allocates nothing.
class SpinLock {
 public:
  void lock() {
    while (flag_.test_and_set(std::memory_order_acquire)) {
    }
  }
  void unlock() { flag_.clear(std::memory_order_release); }

 private:
  std::atomic_flag flag_;
};

/// Memory that is aligned to pages or more, with the requested bytes: the allocator rounds up by as
/// much as the alignment, and touches none of that. Few such blocks live at once.
class AlignedBlocks {
 public:
  /// Returns false if there is no room for one more.
  bool insert(const void* memory, std::size_t bytes) {
    const std::lock_guard lock(lock_);
    std::size_t place = 0;
    while (place < used_ && blocks_[place].memory != nullptr) ++place;
    if (place == blocks_.size()) return false;
    blocks_[place] = {memory, bytes};
    used_ = std::max(used_, place + 1);
    return true;
  }
  /// Forgets the block and returns its bytes, or 0 if it isn't there.
  std::size_t remove(const void* memory) {
    const std::lock_guard lock(lock_);
    for (std::size_t i = 0; i < used_; ++i) {
      if (blocks_[i].memory != memory) continue;
      blocks_[i].memory = nullptr;
      return blocks_[i].bytes;
    }
    return 0;
  }

 private:
  struct Block {
    const void* memory = nullptr;
    std::size_t bytes = 0;
  };
  SpinLock lock_;
  std::size_t used_ = 0;
  std::array<Block, 4096> blocks_{};
};

constinit AlignedBlocks aligned_blocks;

/// Subtracts memory that is about to be freed.
void forget(void* memory) {
  const bool may_be_aligned = reinterpret_cast<std::uintptr_t>(memory) % kPageBytes == 0;
  std::size_t bytes = may_be_aligned ? aligned_blocks.remove(memory) : 0;
  if (bytes == 0) bytes = ::malloc_usable_size(memory);
  count_off(static_cast<std::int64_t>(bytes));
}

void* counted(void* memory) {
  if (memory != nullptr) count(static_cast<std::int64_t>(::malloc_usable_size(memory)));
  return memory;
}

void* counted_aligned(std::size_t alignment, std::size_t bytes) {
  void* const memory = ::__libc_memalign(alignment, bytes);
  const bool is_exact = memory != nullptr && alignment >= kPageBytes && bytes > 0 &&
                        aligned_blocks.insert(memory, bytes);
  if (!is_exact) return counted(memory);
  count(static_cast<std::int64_t>(bytes));
  return memory;
}

}  // namespace
}  // namespace infeed::test

extern "C" {

void* malloc(std::size_t bytes) { return infeed::test::counted(::__libc_malloc(bytes)); }

void* calloc(std::size_t number, std::size_t bytes) {
  return infeed::test::counted(::__libc_calloc(number, bytes));
}

void free(void* memory) {
  if (memory == nullptr) return;
  infeed::test::forget(memory);
  ::__libc_free(memory);
}

void* realloc(void* memory, std::size_t bytes) {
  if (memory == nullptr) return malloc(bytes);
  if (bytes == 0) {
    free(memory);
    return nullptr;
  }
  infeed::test::forget(memory);
  void* const moved = infeed::test::counted(::__libc_realloc(memory, bytes));
  if (moved == nullptr) infeed::test::counted(memory);  // it stays as it was
  return moved;
}

void* memalign(std::size_t alignment, std::size_t bytes) {
  return infeed::test::counted_aligned(alignment, bytes);
}

void* aligned_alloc(std::size_t alignment, std::size_t bytes) {
  return infeed::test::counted_aligned(alignment, bytes);
}

int posix_memalign(void** memory, std::size_t alignment, std::size_t bytes) {
  void* const got = infeed::test::counted_aligned(alignment, bytes);
  if (got == nullptr) return ENOMEM;
  *memory = got;
  return 0;
}

}  // extern "C"

// The standard library rounds the bytes up to the alignment before it asks for them. So does this,
// except for pages.
void* operator new(std::size_t bytes, std::align_val_t alignment) {
  const auto boundary = static_cast<std::size_t>(alignment);
  std::size_t wanted = std::max(bytes, 1UL);
  if (boundary < infeed::test::kPageBytes) wanted = (wanted + boundary - 1) / boundary * boundary;
  void* const memory = infeed::test::counted_aligned(boundary, wanted);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}
void operator delete(void* memory, std::align_val_t) noexcept { free(memory); }
void operator delete(void* memory, std::size_t, std::align_val_t) noexcept { free(memory); }

#endif
