#pragma once

#include <string>
#include <utility>

#include <infeed/pipeline/memory_account.h>

namespace infeed::detail {

/// One stage's share of the account for what it must hold; gives it back when it goes away.
class RigidMemory {
 public:
  RigidMemory(MemoryAccount& account, std::string stage)
      : account_(account), stage_(std::move(stage)) {}
  ~RigidMemory() { shrink(bytes_); }
  RigidMemory(const RigidMemory&) = delete;
  RigidMemory& operator=(const RigidMemory&) = delete;

  /// Throws Error(resource_exhausted) when the account has no room.
  void grow(std::uint64_t bytes) {
    if (bytes == 0) return;
    account_.reserve_rigid(bytes, stage_);
    bytes_ += bytes;
  }
  void shrink(std::uint64_t bytes) {
    if (bytes == 0) return;
    account_.release_rigid(bytes);
    bytes_ -= bytes;
  }
  std::uint64_t bytes() const { return bytes_; }

 private:
  MemoryAccount& account_;
  const std::string stage_;
  std::uint64_t bytes_ = 0;
};

}  // namespace infeed::detail
