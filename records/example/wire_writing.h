#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "example/wire.h"

/// Writes protobuf's wire format, as far as an Example needs it.
namespace infeed::detail {

constexpr std::size_t varint_size(std::uint64_t value) {
  std::size_t size = 1;
  while (value >= 0x80) {
    value >>= 7;
    ++size;
  }
  return size;
}

inline void append_varint(std::string& out, std::uint64_t value) {
  std::array<char, 10> bytes;
  std::size_t size = 0;
  while (value >= 0x80) {
    bytes[size++] = static_cast<char>(value | 0x80);
    value >>= 7;
  }
  bytes[size++] = static_cast<char>(value);
  out.append(bytes.data(), size);
}

inline constexpr char kFirstField = make_tag(1, kLengthDelimited);
inline constexpr char kSecondField = make_tag(2, kLengthDelimited);

/// Returns the size of a tag of one byte, a length, and `bytes`.
constexpr std::size_t field_size(std::size_t bytes) { return 1 + varint_size(bytes) + bytes; }

inline void append_field(std::string& out, char tag, std::string_view bytes) {
  out.push_back(tag);
  append_varint(out, bytes.size());
  out.append(bytes);
}

}  // namespace infeed::detail
