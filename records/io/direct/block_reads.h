#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <sys/types.h>

namespace infeed::detail {

/// Reads at places of a file, several at once; each has a number of its own (a slot) while it is
/// at work.
///
/// Thread-safety: one thread.
class BlockReads {
 public:
  virtual ~BlockReads() = default;
  /// `into` stays as it is until wait(slot) has returned.
  virtual void start(std::size_t slot, std::uint64_t offset, std::span<char> into) = 0;
  /// How many bytes came, or minus an error number.
  virtual ssize_t wait(std::size_t slot) = 0;
};

/// By io_uring; null where the kernel does not allow it.
std::unique_ptr<BlockReads> make_uring_reads(int descriptor, std::size_t slots);
/// By a few threads.
std::unique_ptr<BlockReads> make_thread_reads(int descriptor, std::size_t slots);

}  // namespace infeed::detail
