#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>

#include <infeed/pipeline/memory_account.h>

namespace infeed::detail {

/// Why: elements that are kept ready (in a queue, a job or the consumer's chunk) count in the
/// memory account until they are gone, whoever has them at the moment. A HeldBytes is one such part
/// of best-effort memory. It moves along with its elements, and its destructor gives it back.
///
/// Thread-safety: none; whoever owns the elements owns it.
class HeldBytes {
 public:
  HeldBytes() = default;
  HeldBytes(HeldBytes&& other) noexcept
      : account_(other.account_), bytes_(std::exchange(other.bytes_, 0)) {}
  HeldBytes& operator=(HeldBytes&& other) noexcept {
    std::swap(account_, other.account_);
    std::swap(bytes_, other.bytes_);
    return *this;
  }
  ~HeldBytes() { release(); }

  std::uint64_t bytes() const { return bytes_; }
  /// Returns false, and holds what it did, if the account has no room for the growth.
  bool try_grow_to(MemoryAccount& account, std::uint64_t bytes) {
    if (bytes <= bytes_) return true;
    if (!account.try_reserve_best_effort(bytes - bytes_)) return false;
    account_ = &account;
    bytes_ = bytes;
    return true;
  }
  /// Holds exactly this much, whether there is room or not: the memory is already in use.
  void set(MemoryAccount& account, std::uint64_t bytes) {
    if (bytes > bytes_) account.hold_best_effort(bytes - bytes_);
    if (bytes < bytes_) account.release_best_effort(bytes_ - bytes);
    account_ = &account;
    bytes_ = bytes;
  }
  /// Takes over what `other` holds of the same account, or the part up to `bytes_max`.
  void take_from(HeldBytes& other, std::uint64_t bytes_max = UINT64_MAX) {
    const std::uint64_t bytes = std::min(bytes_max, other.bytes_);
    if (bytes == 0) return;
    account_ = other.account_;
    bytes_ += bytes;
    other.bytes_ -= bytes;
  }
  void release() {
    if (bytes_ != 0) account_->release_best_effort(std::exchange(bytes_, 0));
  }

 private:
  MemoryAccount* account_ = nullptr;
  std::uint64_t bytes_ = 0;
};

}  // namespace infeed::detail
