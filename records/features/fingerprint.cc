#include "infeed/records/fingerprint.h"

#include <array>
#include <bit>
#include <cstddef>
#include <utility>

#include "io/little_endian.h"

namespace infeed {
namespace {

// Constants of the algorithm: primes between 2^63 and 2^64.
constexpr std::uint64_t kPrime0 = 0xc3a5c85c97cb3127U;
constexpr std::uint64_t kPrime1 = 0xb492b66fbe98f273U;
constexpr std::uint64_t kPrime2 = 0x9ae16a3b2f90404fU;

using Pair = std::array<std::uint64_t, 2>;

std::uint64_t word(const char* at) { return detail::load_little<std::uint64_t>(at); }

std::uint64_t folded(std::uint64_t value) { return value ^ (value >> 47); }

std::uint64_t mixed(std::uint64_t a, std::uint64_t b, std::uint64_t multiplier) {
  const std::uint64_t once = folded((a ^ b) * multiplier);
  return folded((b ^ once) * multiplier) * multiplier;
}

std::uint64_t multiplier_of(std::size_t size) { return kPrime2 + size * 2; }

std::uint64_t hash_up_to_16(const char* at, std::size_t size) {
  const std::uint64_t multiplier = multiplier_of(size);
  if (size >= 8) {
    const std::uint64_t a = word(at) + kPrime2;
    const std::uint64_t b = word(at + size - 8);
    return mixed(std::rotr(b, 37) * multiplier + a, (std::rotr(a, 25) + b) * multiplier,
                 multiplier);
  }
  if (size >= 4) {
    const std::uint64_t first = detail::load_little<std::uint32_t>(at);
    return mixed(size + (first << 3), detail::load_little<std::uint32_t>(at + size - 4),
                 multiplier);
  }
  if (size == 0) return kPrime2;
  const auto byte = [at](std::size_t i) {
    return static_cast<std::uint32_t>(static_cast<unsigned char>(at[i]));
  };
  const std::uint32_t front = byte(0) + (byte(size / 2) << 8);
  const std::uint32_t back = static_cast<std::uint32_t>(size) + (byte(size - 1) << 2);
  return folded(front * kPrime2 ^ back * kPrime0) * kPrime2;
}

std::uint64_t hash_up_to_32(const char* at, std::size_t size) {
  const std::uint64_t multiplier = multiplier_of(size);
  const std::uint64_t a = word(at) * kPrime1;
  const std::uint64_t b = word(at + 8);
  const std::uint64_t c = word(at + size - 8) * multiplier;
  const std::uint64_t d = word(at + size - 16) * kPrime2;
  return mixed(std::rotr(a + b, 43) + std::rotr(c, 30) + d, a + std::rotr(b + kPrime2, 18) + c,
               multiplier);
}

std::uint64_t hash_up_to_64(const char* at, std::size_t size) {
  const std::uint64_t multiplier = multiplier_of(size);
  const std::uint64_t a = word(at) * kPrime2;
  const std::uint64_t b = word(at + 8);
  const std::uint64_t c = word(at + size - 8) * multiplier;
  const std::uint64_t d = word(at + size - 16) * kPrime2;
  const std::uint64_t y = std::rotr(a + b, 43) + std::rotr(c, 30) + d;
  const std::uint64_t z = mixed(y, a + std::rotr(b + kPrime2, 18) + c, multiplier);
  const std::uint64_t e = word(at + 16) * multiplier;
  const std::uint64_t f = word(at + 24);
  const std::uint64_t g = (y + word(at + size - 32)) * multiplier;
  const std::uint64_t h = (z + word(at + size - 24)) * multiplier;
  return mixed(std::rotr(e + f, 43) + std::rotr(g, 30) + h, e + std::rotr(f + a, 18) + g,
               multiplier);
}

/// Mixes 32 bytes into two words.
Pair hash_32_with(const char* at, std::uint64_t a, std::uint64_t b) {
  a += word(at);
  b = std::rotr(b + a + word(at + 24), 21);
  const std::uint64_t before = a;
  a += word(at + 8) + word(at + 16);
  b += std::rotr(a, 44);
  return {a + word(at + 24), b + before};
}

/// State of the hash of a text of more than 64 bytes, which takes 64 at a time.
struct LongHash {
  std::uint64_t x = 81 * kPrime2;
  std::uint64_t y = 81 * kPrime1 + 113;
  std::uint64_t z = folded((81 * kPrime1 + 113) * kPrime2 + 113) * kPrime2;
  Pair v{};
  Pair w{};

  void take_64(const char* at, std::uint64_t multiplier, std::uint64_t factor) {
    x = std::rotr(x + y + v[0] + word(at + 8), 37) * multiplier;
    y = std::rotr(y + v[1] + word(at + 48), 42) * multiplier;
    x ^= w[1] * factor;
    y += v[0] * factor + word(at + 40);
    z = std::rotr(z + w[0], 33) * multiplier;
    v = hash_32_with(at, v[1] * multiplier, x + w[0]);
    w = hash_32_with(at + 32, z + w[1], y + word(at + 16));
    std::swap(z, x);
  }
};

}  // namespace

std::uint64_t fingerprint64(std::string_view text) {
  const char* at = text.data();
  const std::size_t size = text.size();
  if (size <= 16) return hash_up_to_16(at, size);
  if (size <= 32) return hash_up_to_32(at, size);
  if (size <= 64) return hash_up_to_64(at, size);
  LongHash hash;
  hash.x += word(at);
  const char* const last_64 = at + size - 64;
  for (const char* const end = at + (size - 1) / 64 * 64; at != end; at += 64) {
    hash.take_64(at, kPrime1, 1);
  }
  const std::uint64_t multiplier = kPrime1 + ((hash.z & 0xff) << 1);
  hash.w[0] += (size - 1) & 63;
  hash.v[0] += hash.w[0];
  hash.w[0] += hash.v[0];
  hash.take_64(last_64, multiplier, 9);
  return mixed(mixed(hash.v[0], hash.w[0], multiplier) + folded(hash.y) * kPrime0 + hash.z,
               mixed(hash.v[1], hash.w[1], multiplier) + hash.x, multiplier);
}

}  // namespace infeed
