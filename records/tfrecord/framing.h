#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string_view>

#include "codec/copying_crc32c.h"
#include "infeed/records/crc32c.h"
#include "io/little_endian.h"

/// The bytes around a record: u64le length, u32le masked CRC of the length, payload, u32le masked
/// CRC of the payload.
namespace infeed::detail {

inline constexpr std::size_t kHeaderBytes = 12;
inline constexpr std::size_t kFooterBytes = 4;
inline constexpr std::size_t kFramingBytes = kHeaderBytes + kFooterBytes;

/// CRCs are linear, so the CRC of eight bytes is a sum of one table entry a byte. Lengths have few
/// bytes that are not zero, and this needs neither a call nor a special instruction (8 ns -> 2 ns).
class LengthCrc {
 public:
  static std::uint32_t masked(std::uint64_t length) {
    std::uint32_t crc = kTables.of_zero;
    for (std::size_t i = 0; i < 4; ++i) crc ^= kTables.byte[i][(length >> (8 * i)) & 0xff];
    if ((length >> 32) != 0) {
      for (std::size_t i = 4; i < 8; ++i) crc ^= kTables.byte[i][(length >> (8 * i)) & 0xff];
    }
    return mask_crc32c(crc);
  }

 private:
  struct Tables {
    std::uint32_t of_zero = 0;
    std::array<std::array<std::uint32_t, 256>, 8> byte{};
  };

  static constexpr std::uint32_t bare_crc(std::uint64_t length, std::uint32_t state) {
    for (int i = 0; i < 8; ++i) {
      state ^= static_cast<std::uint32_t>((length >> (8 * i)) & 0xff);
      for (int bit = 0; bit < 8; ++bit) {
        state = (state >> 1) ^ ((state & 1U) != 0 ? 0x82f63b78U : 0U);
      }
    }
    return state;
  }

  static constexpr Tables make_tables() {
    Tables tables;
    tables.of_zero = ~bare_crc(0, ~0U);
    for (std::size_t i = 0; i < 8; ++i) {
      // Powers of two by the definition, the rest as their sums.
      for (std::size_t value = 1; value < 256; ++value) {
        const std::size_t low = value & (~value + 1);
        tables.byte[i][value] = low == value ? bare_crc(std::uint64_t{value} << (8 * i), 0)
                                             : tables.byte[i][low] ^ tables.byte[i][value ^ low];
      }
    }
    return tables;
  }

  static const Tables kTables;
};

inline constexpr LengthCrc::Tables LengthCrc::kTables = LengthCrc::make_tables();

struct Header {
  std::uint64_t length;
  std::uint32_t masked_crc;
  std::uint32_t expected_crc() const { return LengthCrc::masked(length); }
  bool is_valid() const { return masked_crc == expected_crc(); }
};

inline Header load_header(const char* at) {
  return {load_little<std::uint64_t>(at), load_little<std::uint32_t>(at + 8)};
}

/// Why a record does not begin at a place, or does.
enum class FrameState {
  whole,
  needs_bytes,  ///< its header, or what follows it
  bad_length,
  too_long,
  bad_payload,  ///< the frame is whole, but its payload, which was looked at, is bad
};

/// A record, or what stands in its place, where one may begin.
struct Frame {
  FrameState state;
  std::uint64_t length = 0;  ///< the payload's, where the header is there and valid

  bool is_whole() const { return state == FrameState::whole; }
  /// With its header and footer.
  std::uint64_t bytes() const { return kFramingBytes + length; }
  std::string_view payload(const char* at) const { return {at + kHeaderBytes, length}; }
};

/// The frame at `at`, whose payload is not looked at. `bytes_left` are there from `at` on; of these
/// only a header need be in memory.
inline Frame frame_at(const char* at, std::uint64_t bytes_left,
                      std::uint64_t record_bytes_max = std::numeric_limits<std::uint64_t>::max()) {
  if (bytes_left < kHeaderBytes) return {FrameState::needs_bytes};
  const Header header = load_header(at);
  if (!header.is_valid()) return {FrameState::bad_length};
  if (header.length > record_bytes_max) return {FrameState::too_long, header.length};
  const bool is_whole = bytes_left >= kFramingBytes && header.length <= bytes_left - kFramingBytes;
  return {is_whole ? FrameState::whole : FrameState::needs_bytes, header.length};
}

/// True if `bytes` begin with a record's header. A length's checksum is the strongest sign of a record
/// file: one other file in 2^32 has it by chance.
inline bool begins_with_record(std::string_view bytes) {
  return bytes.size() >= kHeaderBytes && load_header(bytes.data()).is_valid();
}

/// Returns the checksum that is stored behind a payload in memory.
inline std::uint32_t stored_payload_crc(std::string_view payload) {
  return load_little<std::uint32_t>(payload.data() + payload.size());
}

/// `payload` is followed in memory by its footer. Does what was left to `late`, too.
inline bool payload_is_valid(std::string_view payload, LateCopy& late) {
  return stored_payload_crc(payload) == mask_crc32c(crc32c_copying(payload, late));
}
inline bool payload_is_valid(std::string_view payload) {
  LateCopy nothing;
  return payload_is_valid(payload, nothing);
}

inline void store_header(char* at, std::uint64_t length) {
  store_little(at, length);
  store_little(at + 8, LengthCrc::masked(length));
}

inline void store_footer(char* at, std::string_view payload) {
  store_little(at, mask_crc32c(crc32c(payload)));
}

}  // namespace infeed::detail
