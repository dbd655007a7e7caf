#pragma once

#include <cstddef>
#include <memory_resource>
#include <new>
#include <sys/mman.h>

#if __has_include(<cuda_runtime_api.h>)
#include <cuda_runtime_api.h>
#define TRAINER_HAS_CUDA 1
#else
#define TRAINER_HAS_CUDA 0
#endif

/// Page-locked memory, which a GPU copies by itself while the processor computes. On a machine
/// without CUDA it is memory of whole pages, locked as far as the system's limit (ulimit -l) allows,
/// so that the program builds and runs everywhere. Link CUDA::cudart where there is CUDA.
///
/// Each call costs the driver about a millisecond. Stages of Batch and ColumnBatch keep its blocks;
/// for the others there is PooledPageLocked.
class PageLocked final : public std::pmr::memory_resource {
  void* do_allocate(std::size_t bytes, std::size_t) override {
    void* memory = nullptr;  // begins at a page, which any alignment up to 4,096 divides
#if TRAINER_HAS_CUDA
    if (cudaHostAlloc(&memory, bytes, cudaHostAllocPortable) != cudaSuccess) throw std::bad_alloc();
#else
    memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) throw std::bad_alloc();
    if (mlock(memory, bytes) != 0) madvise(memory, bytes, MADV_WILLNEED);
#endif
    return memory;
  }
  void do_deallocate(void* memory, [[maybe_unused]] std::size_t bytes, std::size_t) override {
#if TRAINER_HAS_CUDA
    cudaFreeHost(memory);
#else
    munmap(memory, bytes);
#endif
  }
  bool do_is_equal(const memory_resource& other) const noexcept override { return this == &other; }
};

/// Keeps blocks that come back for the next batches.
struct PooledPageLocked {
  PageLocked below;
  std::pmr::synchronized_pool_resource resource{&below};
};
