#pragma once

#include <cstddef>
#include <cstdint>

/// The factors that move a CRC-32C on by so many bytes, as PCLMULQDQ wants them.
namespace infeed::detail {

/// x^n modulo Castagnoli's polynomial among reflected bits: the product of two reflected numbers comes
/// out one bit too far right (Gopal and others, "Fast CRC Computation for Generic Polynomials Using
/// PCLMULQDQ", Intel 2009).
constexpr std::uint64_t power_of_x(std::size_t n) {
  constexpr std::uint64_t kPolynomial = 0x11EDC6F41;
  std::uint64_t power = 1;
  for (std::size_t i = 0; i < n; ++i) {
    power <<= 1;
    if ((power >> 32) != 0) power ^= kPolynomial;
  }
  std::uint64_t reflected = 0;
  for (int bit = 0; bit < 32; ++bit) reflected |= ((power >> bit) & 1) << (31 - bit);
  return reflected << 1;
}

/// The two factors that move 128 bits on by so many bytes.
struct CrcMove {
  std::uint64_t low;
  std::uint64_t high;
};
constexpr CrcMove crc_move_by(std::size_t bytes) {
  return {power_of_x(8 * bytes + 32), power_of_x(8 * bytes - 32)};
}

}  // namespace infeed::detail
