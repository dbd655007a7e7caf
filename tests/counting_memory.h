#pragma once

#include <cstdint>
#include <map>
#include <memory_resource>
#include <mutex>
#include <new>

#include <infeed/records/batch_memory.h>

namespace infeed::test {

/// Knows each block that it gave. Any threads may use it.
class CountingMemory final : public std::pmr::memory_resource {
 public:
  /// `bytes_max` is the most that it gives at once.
  explicit CountingMemory(std::size_t bytes_max = SIZE_MAX) : bytes_max_(bytes_max) {}

  std::size_t held_bytes() const {
    const std::lock_guard lock(mutex_);
    return held_bytes_;
  }
  std::size_t allocations() const {
    const std::lock_guard lock(mutex_);
    return allocations_;
  }
  /// True if all the bytes lie in a block that wasn't given back.
  bool holds(const void* data, std::size_t bytes) const {
    const std::lock_guard lock(mutex_);
    const auto begin = reinterpret_cast<std::uintptr_t>(data);
    auto after = blocks_.upper_bound(begin);
    if (after == blocks_.begin()) return false;
    const auto& [block, block_bytes] = *--after;
    return begin + bytes <= block + block_bytes;
  }
  /// Number of requests that weren't for a multiple of 64, and of blocks given back with other sizes.
  std::size_t faults() const {
    const std::lock_guard lock(mutex_);
    return faults_;
  }

 private:
  void* do_allocate(std::size_t bytes, std::size_t alignment) override {
    const std::lock_guard lock(mutex_);
    if (bytes > bytes_max_ - held_bytes_) throw std::bad_alloc();
    void* const block = ::operator new (bytes, std::align_val_t{alignment});
    if (alignment % 64 != 0) ++faults_;
    blocks_[reinterpret_cast<std::uintptr_t>(block)] = bytes;
    held_bytes_ += bytes;
    ++allocations_;
    return block;
  }
  void do_deallocate(void* block, std::size_t bytes, std::size_t alignment) override {
    const std::lock_guard lock(mutex_);
    const auto found = blocks_.find(reinterpret_cast<std::uintptr_t>(block));
    if (found == blocks_.end() || found->second != bytes) {
      ++faults_;
      return;
    }
    blocks_.erase(found);
    held_bytes_ -= bytes;
    ::operator delete (block, std::align_val_t{alignment});
  }
  bool do_is_equal(const memory_resource& other) const noexcept override { return this == &other; }

  const std::size_t bytes_max_;
  mutable std::mutex mutex_;
  std::map<std::uintptr_t, std::size_t> blocks_;
  std::size_t held_bytes_ = 0;
  std::size_t allocations_ = 0;
  std::size_t faults_ = 0;
};

}  // namespace infeed::test
