#pragma once

#include <array>
#include <bit>
#include <cstdint>

#include <infeed/pipeline/philox.h>

namespace infeed::detail {

/// A permutation of 0 .. count-1 that is computed, not stored.
///
/// A Feistel network over the smallest 2^bits >= count. The number is cut into two halves (which
/// may differ by a bit). Each round changes one half by a hash of the other, which can be undone,
/// so it is a permutation of 2^bits numbers for any hash. A result outside the range goes through
/// again until it falls inside (cycle walking: Black and Rogaway, "Ciphers with arbitrary finite
/// domains", 2002). More than half of the numbers are inside, so that happens at most once on
/// average.
class KeyedPermutation {
 public:
  KeyedPermutation(std::uint64_t count, std::uint64_t seed, std::uint64_t pass) : count_(count) {
    const int bits = count < 2 ? 0 : static_cast<int>(std::bit_width(count - 1));
    low_bits_ = bits / 2;
    low_mask_ = (std::uint64_t{1} << low_bits_) - 1;
    high_mask_ = (std::uint64_t{1} << (bits - low_bits_)) - 1;
    Philox words(seed, pass);
    for (std::uint64_t& key : keys_) {
      const std::uint64_t low = words();
      key = std::uint64_t{words()} << 32 | low;
    }
  }

  std::uint64_t operator()(std::uint64_t index) const {
    do {
      index = network(index);
    } while (index >= count_);
    return index;
  }

 private:
  std::uint64_t network(std::uint64_t index) const {
    std::uint64_t low = index & low_mask_;
    std::uint64_t high = index >> low_bits_;
    for (std::size_t round = 0; round < keys_.size(); round += 2) {
      high ^= hash(low + keys_[round]) & high_mask_;
      low ^= hash(high + keys_[round + 1]) & low_mask_;
    }
    return high << low_bits_ | low;
  }

  /// The finaliser of MurmurHash3 (Appleby): every bit depends on every other.
  static std::uint64_t hash(std::uint64_t x) {
    x ^= x >> 33;
    x *= 0xFF51AFD7ED558CCD;
    x ^= x >> 33;
    x *= 0xC4CEB9FE1A85EC53;
    return x ^ (x >> 33);
  }

  std::uint64_t count_;
  int low_bits_;
  std::uint64_t low_mask_;
  std::uint64_t high_mask_;
  std::array<std::uint64_t, 6> keys_;
};

}  // namespace infeed::detail
