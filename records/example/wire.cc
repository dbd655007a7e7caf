#include "example/wire.h"

#include <fmt/format.h>

#include "infeed/error.h"

namespace infeed::detail {

void fail_wire(std::string_view what) {
  throw Error(ErrorCode::data_loss, fmt::format("the record is not a valid Example: {}", what));
}

std::uint64_t WireReader::long_varint() {
  std::uint64_t value = 0;
  for (unsigned shift = 0; shift < 70; shift += 7) {
    if (at_ == end_) fail_wire("an integer is cut");
    const std::uint8_t next = byte_at(at_++);
    value |= static_cast<std::uint64_t>(next & 0x7f) << shift;
    if (next < 0x80) return value;
  }
  fail_wire("an integer has more than ten bytes");
}

std::uint32_t WireReader::long_tag() {
  std::uint32_t value = 0;
  for (unsigned shift = 0; shift < 35; shift += 7) {
    if (at_ == end_) fail_wire("a field's tag is cut");
    const std::uint8_t next = byte_at(at_++);
    value |= static_cast<std::uint32_t>(next & 0x7f) << shift;
    if (next < 0x80) {
      if (value >> 3 == 0) fail_wire("a field has the number 0");
      return value;
    }
  }
  fail_wire("a field's tag has more than five bytes");
}

std::size_t WireReader::long_length() {
  std::size_t value = 0;
  for (unsigned shift = 0; shift < 35; shift += 7) {
    if (at_ == end_) fail_wire("a length is cut");
    const std::uint8_t next = byte_at(at_++);
    value |= static_cast<std::size_t>(next & 0x7f) << shift;
    if (next < 0x80) return value;  // a length over 2^31 passes the end of any record that parses
  }
  fail_wire("a length has more than five bytes");
}

void WireReader::skip_value(std::uint32_t tag, int depth) {
  constexpr int kDepthMax = 100;  // libprotobuf's limit
  switch (tag & 7U) {
    case kVarint:
      varint();
      return;
    case kFixed64:
      fixed(8);
      return;
    case kLengthDelimited:
      bytes();
      return;
    case kFixed32:
      fixed(4);
      return;
    case kStartGroup: {
      if (depth >= kDepthMax) fail_wire("groups are nested too deeply");
      while (true) {
        const std::uint32_t inner = this->tag();
        if ((inner & 7U) == kEndGroup) {
          if (inner >> 3 != tag >> 3) fail_wire("a group ends with another number");
          return;
        }
        skip_value(inner, depth + 1);
      }
    }
    case kEndGroup:
      fail_wire("a group ends that did not begin");
    default:
      fail_wire(fmt::format("a field has the unknown wire type {}", tag & 7U));
  }
}

}  // namespace infeed::detail
