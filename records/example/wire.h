#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

/// Reads protobuf's wire format, as far as tf.train.Example needs it, with libprotobuf's limits:
/// tags and lengths of at most five bytes, values of at most ten.
namespace infeed::detail {

enum WireType : std::uint32_t {
  kVarint = 0,
  kFixed64 = 1,
  kLengthDelimited = 2,
  kStartGroup = 3,
  kEndGroup = 4,
  kFixed32 = 5,
};

constexpr std::uint32_t make_tag(std::uint32_t field, WireType type) { return field << 3 | type; }

/// Throws "the record is not a valid Example: `what`" (data_loss).
[[noreturn]] void fail_wire(std::string_view what);

/// A position in a message. Every function throws data_loss instead of passing the end.
class WireReader {
 public:
  explicit WireReader(std::string_view bytes)
      : at_(bytes.data()), end_(bytes.data() + bytes.size()) {}

  bool is_at_end() const { return at_ == end_; }
  const char* position() const { return at_; }
  std::string_view rest() const { return {at_, static_cast<std::size_t>(end_ - at_)}; }

  std::uint64_t varint() {
    if (at_ != end_ && byte(0) < 0x80) return byte_at(at_++);
    return long_varint();
  }
  /// Reads a valid tag; never 0.
  std::uint32_t tag() {
    if (at_ != end_ && byte(0) < 0x80 && byte(0) >= 8) return byte_at(at_++);
    return long_tag();
  }
  /// Reads a length and the bytes behind it.
  std::string_view bytes() {
    std::size_t length = 0;
    if (at_ != end_ && byte(0) < 0x80) {
      length = byte_at(at_++);
    } else {
      length = long_length();
    }
    if (length > static_cast<std::size_t>(end_ - at_)) fail_wire("a length passes the end");
    const char* const begin = at_;
    at_ += length;
    return {begin, length};
  }
  const char* fixed(std::size_t size) {
    if (size > static_cast<std::size_t>(end_ - at_)) fail_wire("a number is cut");
    const char* const begin = at_;
    at_ += size;
    return begin;
  }
  /// Passes over the value of an unknown field.
  void skip_value(std::uint32_t tag) { skip_value(tag, 0); }

 private:
  static std::uint8_t byte_at(const char* at) { return static_cast<std::uint8_t>(*at); }
  std::uint8_t byte(std::size_t i) const { return byte_at(at_ + i); }
  std::uint64_t long_varint();
  std::uint32_t long_tag();
  std::size_t long_length();
  void skip_value(std::uint32_t tag, int depth);

  const char* at_;
  const char* end_;
};

}  // namespace infeed::detail
