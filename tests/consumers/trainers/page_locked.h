#pragma once

#include <cstddef>
#include <memory_resource>
#include <new>
#include <sys/mman.h>

// A build without the CUDA runtime to link may define it as 0.
#ifndef TRAINER_HAS_CUDA
#if __has_include(<cuda_runtime_api.h>)
#define TRAINER_HAS_CUDA 1
#else
#define TRAINER_HAS_CUDA 0
#endif
#endif
#if TRAINER_HAS_CUDA
#include <cuda_runtime_api.h>
#endif

/// Page-locked memory, which a GPU copies by itself while the processor computes. Where the program
/// is built without CUDA, or finds no GPU, it is memory of whole pages, locked as far as the
/// system's limit allows (ulimit -l), so that the program runs everywhere.
///
/// Each call costs the driver about a millisecond. Stages of Batch and ColumnBatch keep its blocks;
/// for the others there is PooledPageLocked.
class PageLocked final : public std::pmr::memory_resource {
 public:
  PageLocked() {
#if TRAINER_HAS_CUDA
    int gpus = 0;
    has_gpu_ = cudaGetDeviceCount(&gpus) == cudaSuccess && gpus > 0;
#endif
  }
  bool has_gpu() const { return has_gpu_; }

 private:
  // Both kinds begin at a page, which is a multiple of any alignment up to 4,096.
  void* do_allocate(std::size_t bytes, std::size_t) override {
#if TRAINER_HAS_CUDA
    void* locked = nullptr;
    if (has_gpu_) {
      if (cudaHostAlloc(&locked, bytes, cudaHostAllocPortable) == cudaSuccess) return locked;
      throw std::bad_alloc();
    }
#endif
    void* const pages =
        mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (pages == MAP_FAILED) throw std::bad_alloc();
    if (mlock(pages, bytes) != 0) madvise(pages, bytes, MADV_WILLNEED);
    return pages;
  }
  void do_deallocate(void* memory, std::size_t bytes, std::size_t) override {
#if TRAINER_HAS_CUDA
    if (has_gpu_) {
      cudaFreeHost(memory);
      return;
    }
#endif
    munmap(memory, bytes);
  }
  bool do_is_equal(const memory_resource& other) const noexcept override { return this == &other; }

  bool has_gpu_ = false;
};

/// Keeps blocks that come back for the next batches.
struct PooledPageLocked {
  PageLocked below;
  std::pmr::synchronized_pool_resource resource{&below};
};
