#pragma once

#include <cstdint>
#include <string_view>

/// Why: TFRecord guards every length and every payload with CRC-32C (Castagnoli, RFC 3720), stored
/// "masked", because the CRC of bytes that hold a CRC is weak. Both run at memory speed (ISA-L).
///
///     infeed::crc32c("123456789")                      // 0xe3069283
///     infeed::mask_crc32c(infeed::crc32c("123456789")) // 0xc78ab0e5, as a record's footer has it
///
/// Thread-safety: pure functions.
namespace infeed {

std::uint32_t crc32c(std::string_view bytes) noexcept;

/// The CRC of what gave `crc` followed by `bytes`: extend_crc32c(crc32c(a), b) == crc32c(a + b).
std::uint32_t extend_crc32c(std::uint32_t crc, std::string_view bytes) noexcept;

/// TFRecord's mask: rotate right by 15 bits, add 0xa282ead8.
constexpr std::uint32_t mask_crc32c(std::uint32_t crc) noexcept {
  return ((crc >> 15) | (crc << 17)) + 0xa282ead8U;
}

constexpr std::uint32_t unmask_crc32c(std::uint32_t masked) noexcept {
  const std::uint32_t rotated = masked - 0xa282ead8U;
  return (rotated >> 17) | (rotated << 15);
}

}  // namespace infeed
