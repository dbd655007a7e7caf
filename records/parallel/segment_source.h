#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "infeed/records/compression.h"
#include "io/byte_source.h"

/// Cuts a compressed file into segments that are decoded independently of each other.
namespace infeed::detail {

struct Segment {
  std::uint64_t stream_begin = 0;
  std::uint64_t stream_end = 0;
  /// Place of the segment's bytes in the file.
  std::uint64_t file_begin = 0;
  std::uint64_t file_end = 0;
};

/// A source that gives the bytes of one segment after the other. Each thread has its own.
class SegmentSource : public ByteSource {
 public:
  virtual void begin(const Segment& segment) = 0;
  /// CRC-32 (as in gzip) of the bytes read since begin(), where the file has one to compare with.
  virtual std::uint32_t crc32() const { return 0; }
};

struct SegmentPlan {
  std::vector<Segment> segments;  ///< empty: the file can't be split
  /// How the file is split, or why it isn't.
  std::string reason;
};

/// Plans the segments. Never throws because of files beside the data: a bad index only means
/// another way to read.
SegmentPlan plan_segments(const std::string& file, Compression compression,
                          std::uint64_t segment_bytes);

std::unique_ptr<SegmentSource> make_segment_source(const std::string& file, Compression compression,
                                                   std::size_t input_block_bytes);

/// True if a gzip member whose segments end at `segments_end` of the file ends as it must: without
/// further content, and with `crc` and `size`, those of all its bytes.
bool gzip_tail_is_right(const std::string& file, std::uint64_t segments_end, std::uint32_t crc,
                        std::uint64_t size);

}  // namespace infeed::detail
