#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "infeed/records/shape.h"
#include "io/little_endian.h"

namespace infeed::detail {

/// A 64-bit hash of pieces added one after the other. It multiplies 64 by 64 bits and folds the
/// halves, for 16 bytes at a time, as wyhash does; 8 to 10 GB/s. It withstands chance, not an
/// attacker.
///
/// Checkpoints hold values of this hash and of OrderHash, which takes 8 bytes at a time and has a
/// quarter of the speed (the signature of from_columns, the order hash). So neither can become the
/// other.
class ContentHash {
 public:
  void add(std::uint64_t value) { state_ = fold(state_ ^ value, kOdd); }
  void add(const Shape& shape) {
    add(shape.rank());
    for (const std::int64_t extent : shape) add(static_cast<std::uint64_t>(extent));
  }
  void add(std::string_view text) { add_bytes(text.data(), text.size()); }
  void add_bytes(const void* data, std::size_t size) {
    const char* at = static_cast<const char*>(data);
    std::uint64_t a = state_ ^ size;
    std::uint64_t b = fold(a, kOdd);
    std::size_t left = size;
    for (; left >= 32; left -= 32, at += 32) {
      a = fold(word(at) ^ kOdd, word(at + 8) ^ a);
      b = fold(word(at + 16) ^ kOdd, word(at + 24) ^ b);
    }
    for (; left >= 8; left -= 8, at += 8) a = fold(word(at) ^ kOdd, a ^ kOther);
    std::uint64_t last = 0;
    for (; left > 0; --left, ++at) last = last << 8 | static_cast<unsigned char>(*at);
    state_ = fold(a ^ last, b ^ kOdd) ^ fold(b, kOther);
  }
  std::uint64_t value() const { return fold(state_ ^ kOther, kOdd); }

 private:
  static constexpr std::uint64_t kOdd = 0xa0761d6478bd642fU;
  static constexpr std::uint64_t kOther = 0xe7037ed1a0b428dbU;

  static std::uint64_t word(const char* at) { return load_little<std::uint64_t>(at); }
  static std::uint64_t fold(std::uint64_t a, std::uint64_t b) {
    __extension__ using Wide = unsigned __int128;
    const Wide product = static_cast<Wide>(a) * b;
    return static_cast<std::uint64_t>(product) ^ static_cast<std::uint64_t>(product >> 64);
  }

  std::uint64_t state_ = kOther;
};

}  // namespace infeed::detail
