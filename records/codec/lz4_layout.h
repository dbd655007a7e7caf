#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "codec/skippable_frame.h"
#include "parallel/segment_place.h"

/// Sizes and marks of our LZ4 files (lz4_format.md) that their writer and their readers share.
namespace infeed::detail {

/// Version 1, independent blocks of at most 256 KiB, no sizes and no checksums; this header's own
/// checksum; and a first block without content, which promises an index behind the end mark.
inline constexpr std::string_view kLz4FrameHeader{"\x04\x22\x4d\x18\x60\x50\xfb\x01\0\0\0\0", 12};
inline constexpr std::size_t kLz4BlockHeaderBytes = 4;
inline constexpr std::uint32_t kLz4IsStored = std::uint32_t{1} << 31;  ///< in a block's header
/// The skippable frame with the index.
inline constexpr std::uint32_t kLz4IndexMagic = kSkippableMagic + 0xd;
inline constexpr std::string_view kLz4TrailerMagic = "INFEEDL2";  ///< the digit is its version
inline constexpr std::size_t kLz4TrailerBytes = 20;
/// Bytes of an index's content without the places of blocks.
inline constexpr std::size_t kLz4IndexBytesMin = SegmentPlace::kBytes + kLz4TrailerBytes;

}  // namespace infeed::detail
