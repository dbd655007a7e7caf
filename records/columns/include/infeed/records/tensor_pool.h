#pragma once

#include <cstddef>
#include <memory>

namespace infeed {

/// Says whether memory may lie free in a pool, for who has a budget.
///
/// Thread-safety: any thread may call it. Nobody does once the last copy of the pool is gone.
class FreeMemoryAccount {
 public:
  virtual ~FreeMemoryAccount() = default;
  /// True when so much may lie free from now on; else the pool gives it back to the system.
  virtual bool try_keep(std::size_t bytes) noexcept = 0;
  /// It lies free no more.
  virtual void let_go(std::size_t bytes) noexcept = 0;
};

struct TensorPoolOptions {
  /// Memory that lies free is at most so much, or one block, and with what is in use at most what was
  /// in use at once before. What came back first goes first.
  std::size_t free_bytes_max = std::size_t{64} << 20;
  /// It is asked for all memory that lies free, if it isn't null.
  std::shared_ptr<FreeMemoryAccount> account = nullptr;
};

/// Why: a fresh megabyte costs page faults (0.25 us each 4 KiB), and a training run takes one batch
/// after another of nearly the same size. A pool keeps the memory of Tensors that are gone for the
/// next ones.
///
///     const infeed::TensorPool pool;
///     infeed::Tensor batch(infeed::DType::float32, {32, 784}, pool);
///
/// Ownership: a Tensor's memory comes back when its last copy is gone. A Tensor may outlive the
/// pool; its memory is then freed. Copies of a pool are the same pool.
/// Thread-safety: any thread may take memory, and drop it. Errors: resource_exhausted.
class TensorPool {
 public:
  explicit TensorPool(TensorPoolOptions options = {});

  /// `bytes` is what was asked for, rounded up: by a quarter at most, or to 64. Aligned to 64.
  struct Block {
    std::shared_ptr<std::byte> memory;
    std::size_t bytes = 0;
  };
  Block take(std::size_t bytes) const;

  /// What lies free now.
  std::size_t free_bytes() const;

 private:
  struct Keeper;
  class Blocks;

  std::shared_ptr<Keeper> keeper_;
};

}  // namespace infeed
