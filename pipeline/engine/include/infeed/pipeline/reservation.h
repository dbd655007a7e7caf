#pragma once

#include <cstdint>
#include <string>
#include <utility>

#include <infeed/pipeline/memory_account.h>

namespace infeed {

/// One stage's share of the memory account (memory_account.h), for memory that it must hold, or for
/// memory that it gives up by a MemoryOffer. The destructor gives it back.
///
///     class Merge : public infeed::Stage {
///       void keep(std::uint64_t bytes) { held_.grow(bytes); }  // before it holds them
///       infeed::Reservation held_{memory(), "merge"};
///     };
///
/// Thread-safety: none; one thread at a time.
class Reservation {
 public:
  enum class Kind : std::uint8_t { required, dispensable };

  Reservation(MemoryAccount& account, std::string stage, Kind kind = Kind::required)
      : account_(account), stage_(std::move(stage)), kind_(kind) {}
  ~Reservation() { shrink(bytes_); }
  Reservation(const Reservation&) = delete;
  Reservation& operator=(const Reservation&) = delete;

  /// Reserves more. Throws Error(resource_exhausted) if the account has no room.
  void grow(std::uint64_t bytes) {
    if (bytes == 0) return;
    if (kind_ == Kind::required) {
      account_.reserve_required(bytes, stage_);
    } else {
      account_.reserve_dispensable(bytes, stage_);
    }
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
  const Kind kind_;
  std::uint64_t bytes_ = 0;
};

}  // namespace infeed
