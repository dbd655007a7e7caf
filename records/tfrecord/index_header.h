#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

#include "io/input_file.h"
#include "io/little_endian.h"
#include "tfrecord/framing.h"

namespace infeed::detail {

/// The front of our index file (index_format.md): a few numbers that say most, for those who don't
/// need, or don't want to hold, the whole of it.
struct IndexHeader {
  std::uint64_t file_bytes = 0;
  std::uint64_t count = 0;
};

inline constexpr std::string_view kIndexMagic = "INFEEDIX";
inline constexpr std::uint32_t kIndexVersion = 1;
inline constexpr std::size_t kIndexHeaderBytes = 32;

/// Nothing when the file is no index of this version, or can't be one of the data file it claims.
inline std::optional<IndexHeader> read_index_header(const InputFile& index) {
  std::array<char, kIndexHeaderBytes> bytes{};
  if (index.read_at(0, bytes) != bytes.size() ||
      std::string_view(bytes.data(), kIndexMagic.size()) != kIndexMagic ||
      load_little<std::uint32_t>(bytes.data() + 8) != kIndexVersion) {
    return std::nullopt;
  }
  const IndexHeader header{.file_bytes = load_little<std::uint64_t>(bytes.data() + 16),
                           .count = load_little<std::uint64_t>(bytes.data() + 24)};
  if (header.count > header.file_bytes / kFramingBytes) return std::nullopt;
  return header;
}

}  // namespace infeed::detail
