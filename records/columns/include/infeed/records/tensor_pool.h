#pragma once

#include <cstddef>
#include <memory>

namespace infeed {

struct TensorPoolOptions {
  /// Memory that lies free is at most so much, or one block, and with what is in use at most what was
  /// in use at once before. What came back first goes first.
  std::size_t free_bytes_max = std::size_t{64} << 20;
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
