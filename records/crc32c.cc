#include "infeed/records/crc32c.h"

#include <algorithm>
#include <cstddef>
#include <isa-l/crc.h>

namespace infeed {

std::uint32_t extend_crc32c(std::uint32_t crc, std::string_view bytes) noexcept {
  // ISA-L's crc32_iscsi is the bare shift register: it inverts neither before nor after, takes an
  // int as the length, and reads through a pointer that is not const.
  constexpr std::size_t kPieceBytesMax = std::size_t{1} << 30;
  std::uint32_t state = ~crc;
  while (!bytes.empty()) {
    const std::string_view piece = bytes.substr(0, kPieceBytesMax);
    auto* data = reinterpret_cast<unsigned char*>(const_cast<char*>(piece.data()));
    state = crc32_iscsi(data, static_cast<int>(piece.size()), state);
    bytes.remove_prefix(piece.size());
  }
  return ~state;
}

std::uint32_t crc32c(std::string_view bytes) noexcept { return extend_crc32c(0, bytes); }

}  // namespace infeed
