#include "io/file_ends.h"

#include <algorithm>
#include <array>

#include "infeed/error.h"
#include "infeed/records/crc32c.h"

namespace infeed::detail {

std::uint32_t crc_of_ends(const InputFile& file, std::uint64_t size) {
  constexpr std::size_t kEndBytes = 4096;
  const auto part = static_cast<std::size_t>(std::min<std::uint64_t>(size, kEndBytes));
  std::array<char, kEndBytes> bytes;
  std::uint32_t crc = 0;
  for (const std::uint64_t offset : {std::uint64_t{0}, size - part}) {
    const std::size_t got = file.read_at(offset, std::span(bytes).first(part));
    crc = extend_crc32c(crc, {bytes.data(), got});
  }
  return crc;
}

std::uint64_t require_regular(const InputFile& file) {
  const auto size = file.size_bytes();
  if (size) return *size;
  throw Error(ErrorCode::failed_precondition, "only regular files can be indexed")
      .at_file(file.name());
}

}  // namespace infeed::detail
