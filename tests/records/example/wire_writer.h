#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

/// Protobuf bytes made by hand, also such as no library would write.
namespace infeed::test {

inline std::string varint(std::uint64_t value) {
  std::string bytes;
  for (; value >= 0x80; value >>= 7) bytes.push_back(static_cast<char>(value | 0x80));
  bytes.push_back(static_cast<char>(value));
  return bytes;
}
inline std::string bytes_field(std::uint32_t field, std::string_view bytes) {
  return varint(field << 3 | 2) + varint(bytes.size()) + std::string(bytes);
}
/// An Int64List in the usual form: one packed run.
inline std::string packed_integers(const std::vector<std::int64_t>& values) {
  std::string run;
  for (const std::int64_t value : values) run += varint(static_cast<std::uint64_t>(value));
  return bytes_field(1, run);
}
inline std::string varint_field(std::uint32_t field, std::uint64_t value) {
  return varint(field << 3) + varint(value);
}

}  // namespace infeed::test
