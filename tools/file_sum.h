#pragma once

#include <cstdint>
#include <string>

/// Why: size and checksum of a whole file say whether it is still the one that was written.
namespace infeed::tools {

struct FileSum {
  std::uint64_t bytes = 0;
  std::uint32_t crc32c = 0;
  bool operator==(const FileSum&) const = default;
};

/// Size and CRC-32C, in steps of a MiB. By path or URL; errors as of ByteStream.
FileSum sum_file(const std::string& file);

}  // namespace infeed::tools
