#pragma once

#include <string>
#include <utility>

#include <infeed/pipeline/memory_account.h>

namespace infeed {

/// One stage's share of the memory account (memory_account.h), for memory that it must hold. The
/// destructor gives it back.
///
///     class Merge : public infeed::Stage {
///       void keep(std::uint64_t bytes) { held_.grow(bytes); }  // before it holds them
///       infeed::Reservation held_{memory(), "merge"};
///     };
///
/// Thread-safety: none; one thread at a time.
class Reservation {
 public:
  Reservation(MemoryAccount& account, std::string stage)
      : account_(account), stage_(std::move(stage)) {}
  ~Reservation() { shrink(bytes_); }
  Reservation(const Reservation&) = delete;
  Reservation& operator=(const Reservation&) = delete;

  /// Reserves more. Throws Error(resource_exhausted) if the account has no room.
  void grow(std::uint64_t bytes) {
    if (bytes == 0) return;
    account_.reserve_required(bytes, stage_);
    bytes_ += bytes;
  }
  void shrink(std::uint64_t bytes) {
    if (bytes == 0) return;
    account_.release_required(bytes);
    bytes_ -= bytes;
  }
  std::uint64_t bytes() const { return bytes_; }

 private:
  MemoryAccount& account_;
  const std::string stage_;
  std::uint64_t bytes_ = 0;
};

}  // namespace infeed
