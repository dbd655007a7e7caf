#include "image/codec/jpeg_markers.h"

#include <cstring>

namespace infeed::image {

std::size_t count_jpeg_scans(std::string_view jpeg, std::size_t count_max) {
  constexpr unsigned char kScan = 0xDA;
  constexpr unsigned char kEnd = 0xD9;
  std::size_t count = 0;
  std::size_t at = 2;
  while (at + 4 <= jpeg.size() && count <= count_max) {
    // In coded data 0x00 follows each 0xFF, and 0x00 isn't a marker. So this finds the next marker.
    const void* const found = std::memchr(jpeg.data() + at, 0xFF, jpeg.size() - at - 3);
    if (found == nullptr) break;
    at = static_cast<std::size_t>(static_cast<const char*>(found) - jpeg.data());
    const auto marker = static_cast<unsigned char>(jpeg[at + 1]);
    if (marker == 0xFF) {
      ++at;
      continue;
    }
    at += 2;
    if (marker == kEnd) break;
    const bool has_content = marker >= 0xC0 && !(marker >= 0xD0 && marker <= 0xD8);
    if (!has_content) continue;
    count += marker == kScan ? 1 : 0;
    at += static_cast<std::size_t>(static_cast<unsigned char>(jpeg[at])) << 8 |
          static_cast<unsigned char>(jpeg[at + 1]);
  }
  return count;
}

}  // namespace infeed::image
