#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>

#include <infeed/pipeline/chunk.h>
#include <infeed/pipeline/detail/held_bytes.h>

namespace infeed::detail {

/// Why: a thread that pulls ahead of its consumer must have room in the memory account before it knows
/// how large the elements will be. It expects them to be as large as the largest of late, and holds
/// what they really are once they have come.
///
/// Thread-safety: none; the owner's lock guards it.
class ElementsInHand {
 public:
  ElementsInHand(MemoryAccount& account, std::uint64_t bytes_each)
      : account_(account), bytes_each_(bytes_each) {}

  /// Returns false where the account has no room for so many.
  bool try_expect(std::size_t elements) {
    if (!held_.try_grow_to(account_, elements * bytes_each_)) return false;
    if (come_held_) held_.release();  // or they would be in the account twice
    return true;
  }
  /// Takes the chunk's part of the account over, and holds all that the chunk is: chunk.bytes(), which
  /// the caller asks for before it takes its lock.
  void hold(Chunk& chunk, std::uint64_t bytes) {
    come_held_ = chunk.held().bytes() != 0;
    if (come_held_) std::swap(held_, chunk.held());
    chunk.held().release();
    held_.set(account_, bytes);
    bytes_each_ = std::max(bytes / chunk.slots(), bytes_each_ - bytes_each_ / 16);
  }
  /// Gives access to what is held, to hand it on or to release it.
  HeldBytes& held() { return held_; }
  std::uint64_t bytes_each() const { return bytes_each_; }

 private:
  MemoryAccount& account_;
  HeldBytes held_;
  bool come_held_ = false;    ///< whoever made the elements has them in the account already
  std::uint64_t bytes_each_;  ///< of an element: the most of late
};

}  // namespace infeed::detail
