#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

/// CRC-32C on a CPU with AVX-512's VPCLMULQDQ, where it takes less time than ISA-L 2.30 for as many
/// bytes as a record has: 20 against 29 ns for 848 in the second-level cache of an AMD EPYC 9004, 41
/// against 55 for 2 KB, 58 against 73 for 3 KB.
namespace infeed::detail {

/// Whether this CPU has the instructions.
bool has_folded_crc32c() noexcept;

/// The bare shift register behind the bytes, neither inverted before nor after. Only where
/// has_folded_crc32c().
std::uint32_t folded_crc32c(std::uint32_t state, const char* bytes, std::size_t size) noexcept;

/// The same of `bytes`, while `copied`, which lies in them and has kFoldedCopyBytesMin at least, goes
/// to `to`.
std::uint32_t folded_crc32c_copying(std::uint32_t state, std::string_view bytes,
                                    std::string_view copied, char* to) noexcept;
inline constexpr std::size_t kFoldedCopyBytesMin = 512;

}  // namespace infeed::detail
