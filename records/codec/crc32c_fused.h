#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

/// CRC-32C of many bytes at once, half as fast again as ISA-L 2.30 on a CPU with VPCLMULQDQ but
/// without AVX-512 (35 against 23 GB/s in the second-level cache of an AMD EPYC 7003): there its
/// three chains of the crc32 instruction leave the units for vectors idle. Here those fold one part
/// of each chunk while the crc32 instruction goes over the others.
namespace infeed::detail {

constexpr std::size_t kFusedCrcChunkBytes = 7936;

/// Whether this CPU has the instructions, and nothing better for ISA-L to use.
bool has_fused_crc32c() noexcept;

/// The bare shift register, neither inverted before nor after, behind `chunks` whole chunks of
/// kFusedCrcChunkBytes. Only where has_fused_crc32c().
std::uint32_t fused_crc32c(std::uint32_t state, const char* bytes, std::size_t chunks) noexcept;

/// The same register behind any bytes, on a CPU without has_folded_crc32c(): in chunks where that is
/// quicker, the rest by ISA-L.
std::uint32_t shifted_crc32c(std::uint32_t state, std::string_view bytes) noexcept;

}  // namespace infeed::detail
