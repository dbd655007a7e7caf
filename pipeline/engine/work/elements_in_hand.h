#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>

#include <infeed/pipeline/chunk.h>
#include <infeed/pipeline/detail/held_bytes.h>

#include "engine/work/error_bytes.h"

namespace infeed::detail {

/// Returns the bytes of the slots that no value fills.
inline std::uint64_t room_bytes(const Chunk& chunk) {
  return (chunk.capacity() - chunk.size()) * chunk.type().size;
}

/// Returns the bytes of a chunk that is kept ready. Nothing can follow an error in its chunk, so the
/// error counts with all the room behind it: a queue of errors would have no bounds otherwise.
inline std::uint64_t bytes_when_kept(const Chunk& chunk) {
  const std::uint64_t bytes = chunk.bytes();
  if (!chunk.has_error()) return bytes;
  return bytes + room_bytes(chunk) + bytes_when_kept(*chunk.error());
}

/// Why: a thread that pulls ahead of its consumer must reserve memory before it knows how large the
/// elements will be. It expects them to be as large as the largest recent one, and holds their real
/// size once they have come.
///
/// Thread-safety: none; the owner's lock guards it.
class ElementsInHand {
 public:
  ElementsInHand(MemoryAccount& account, std::uint64_t bytes_each)
      : account_(account), bytes_each_(bytes_each) {}

  /// Returns false if the account has no room for what a pull of so many elements may give.
  bool try_expect(std::size_t elements) {
    // Stage::pull() gives about as much as a chunk may own, or one element.
    constexpr std::uint64_t kPulledBytesMax = kChunkBytesMax + kChunkPayloadBytesMax;
    const std::uint64_t bytes =
        std::max(bytes_each_, std::min(elements * bytes_each_, kPulledBytesMax));
    if (!held_.try_grow_to(account_, bytes)) return false;
    if (come_held_) held_.release();  // otherwise the elements would be counted twice
    return true;
  }
  /// Takes over the chunk's part of the account, and holds `bytes` in all. The caller computes them
  /// by bytes_when_kept() or chunk.bytes() before it takes its lock.
  void hold(Chunk& chunk, std::uint64_t bytes) {
    come_held_ = chunk.held().bytes() != 0;
    if (come_held_) std::swap(held_, chunk.held());
    chunk.held().release();
    held_.set(account_, bytes);
    bytes_each_ = std::max(bytes / chunk.slots(), bytes_each_ - bytes_each_ / 16);
  }
  /// The bytes that are held, to hand them on or to release them.
  HeldBytes& held() { return held_; }
  std::uint64_t bytes_each() const { return bytes_each_; }

 private:
  MemoryAccount& account_;
  HeldBytes held_;
  bool come_held_ = false;    ///< the maker of the elements has counted them already
  std::uint64_t bytes_each_;  ///< size of the largest recent element
};

}  // namespace infeed::detail
