#pragma once

#include <bit>
#include <cstdint>
#include <string>
#include <string_view>

/// Writing a message in protobuf's wire format, field by field, without its library.
///
///     ProtoMessage line;
///     line.integer(1, 7).text(2, "Steps");
///     plane.message(3, line);
namespace infeed::tools {

class ProtoMessage {
 public:
  ProtoMessage& integer(unsigned field, std::uint64_t value) {
    varint(field * 8 + 0);
    varint(value);
    return *this;
  }
  ProtoMessage& real(unsigned field, double value) {
    varint(field * 8 + 1);
    const auto bits = std::bit_cast<std::uint64_t>(value);
    for (unsigned shift = 0; shift < 64; shift += 8) bytes_ += static_cast<char>(bits >> shift);
    return *this;
  }
  /// Text must be UTF-8, or readers refuse the whole file.
  ProtoMessage& text(unsigned field, std::string_view bytes) {
    varint(field * 8 + 2);
    varint(bytes.size());
    bytes_ += bytes;
    return *this;
  }
  ProtoMessage& message(unsigned field, const ProtoMessage& inner) {
    return text(field, inner.bytes_);
  }
  const std::string& bytes() const { return bytes_; }

 private:
  void varint(std::uint64_t value) {
    for (; value >= 0x80; value >>= 7) bytes_ += static_cast<char>(value | 0x80);
    bytes_ += static_cast<char>(value);
  }

  std::string bytes_;
};

}  // namespace infeed::tools
