#pragma once

#include <cstddef>
#include <memory>

#include "infeed/records/batch_memory.h"

namespace infeed {

/// Decides whether memory may lie free in a pool, for programs with a budget.
///
/// Thread-safety: any thread may call it. No thread does once the last copy of the pool is gone.
class FreeMemoryAccount {
 public:
  virtual ~FreeMemoryAccount() = default;
  /// Returns true when `bytes` more may lie free; else the pool gives them back to the system.
  virtual bool try_keep(std::size_t bytes) noexcept = 0;
  /// Notes that `bytes` lie free no longer.
  virtual void let_go(std::size_t bytes) noexcept = 0;
};

struct TensorPoolOptions {
  /// Most bytes that lie free; one block may lie free in any case. Free and used bytes together
  /// never exceed the most that was in use at once before. Blocks that came back first are freed
  /// first.
  std::size_t free_bytes_max = std::size_t{64} << 20;
  /// The account that is asked before a block may lie free; null: nobody is asked.
  std::shared_ptr<FreeMemoryAccount> account = nullptr;
  /// Memory that the blocks lie in; null: the system's.
  BatchMemory memory = nullptr;
};

/// Why: a fresh megabyte costs page faults (0.25 us each 4 KiB), and a training run takes one batch
/// after another of nearly the same size. A pool keeps the memory of Tensors that are gone for the
/// next ones.
///
///     const infeed::TensorPool pool;
///     infeed::Tensor batch(infeed::DType::float32, {32, 784}, pool);
///
/// Ownership: a Tensor's memory comes back when its last copy is gone. A Tensor may outlive the
/// pool; its memory is then freed. Copies of a pool are the same pool. Thread-safety: any thread
/// may take and drop memory. Errors: resource_exhausted.
class TensorPool {
 public:
  explicit TensorPool(TensorPoolOptions options = {});

  /// Memory aligned to 64. `bytes` is the wanted size, rounded up by a quarter at most, or to 64.
  struct Block {
    std::shared_ptr<std::byte> memory;
    std::size_t bytes = 0;
  };
  Block take(std::size_t bytes) const;
  /// Returns the bytes of the block that take() gives for so many.
  static std::size_t block_bytes(std::size_t bytes);

  /// Bytes that lie free now.
  std::size_t free_bytes() const;

 private:
  struct Keeper;
  class Blocks;

  std::shared_ptr<Keeper> keeper_;
};

}  // namespace infeed
