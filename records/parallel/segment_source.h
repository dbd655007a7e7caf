#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "infeed/records/compression.h"
#include "io/byte_source.h"

/// One file cut into segments that are decoded independently of each other.
namespace infeed::detail {

struct Segment {
  static constexpr std::uint64_t kToEnd = std::numeric_limits<std::uint64_t>::max();

  std::uint64_t stream_begin = 0;
  std::uint64_t stream_end = kToEnd;
  /// Of a compressed file: where its bytes lie. (A plain file is its stream.)
  std::uint64_t file_begin = 0;
  std::uint64_t file_end = kToEnd;
  /// stream_begin may lie inside a record: the first record behind it is to be looked for.
  bool is_guess = false;
};

/// A source that goes to a segment and gives its bytes. One a thread.
class SegmentSource : public ByteSource {
 public:
  virtual void begin(const Segment& segment) = 0;
  /// CRC-32 (of gzip) of what was read since begin(), where the file has one to compare with.
  virtual std::uint32_t crc32() const { return 0; }
};

struct SegmentPlan {
  std::vector<Segment> segments;  ///< empty: the file can't be split
  /// How the file is split, or why it isn't.
  std::string reason;
};

/// Never throws because of what lies beside the data: a bad index only means another way to read.
SegmentPlan plan_segments(const std::string& file, Compression compression,
                          std::uint64_t segment_bytes);

std::unique_ptr<SegmentSource> make_segment_source(const std::string& file, Compression compression,
                                                   std::size_t input_block_bytes);

/// Whether a gzip member whose segments end at `segments_end` of the file ends as it must: with
/// nothing more, and with `crc` and `size`, which are those of all its bytes.
bool gzip_tail_is_right(const std::string& file, std::uint64_t segments_end, std::uint32_t crc,
                        std::uint64_t size);

}  // namespace infeed::detail
