#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

/// Sizes and marks of the LZ4 format (lz4_format.md) that its writer and its readers share.
namespace infeed::detail {

inline constexpr std::uint32_t kLz4Version = 1;
inline constexpr std::size_t kLz4FileHeaderBytes = 16;
inline constexpr std::string_view kLz4BlockMagic = "LZ4B";
inline constexpr std::size_t kLz4TrailerBytes = 20;
inline constexpr std::string_view kLz4TrailerMagic = "INFEEDLE";

}  // namespace infeed::detail
