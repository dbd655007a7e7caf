#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "infeed/records/parallel_record_reader.h"
#include "io/stream_window.h"
#include "parallel/segment_source.h"
#include "tfrecord/resynchronise.h"

namespace infeed::detail {

struct DecodedSegment {
  /// False if something is wrong. The segment must then be read again from its begin.
  bool is_good = false;
  std::uint64_t begin = 0;      ///< begin of the first record
  std::uint64_t end = 0;        ///< end of the last record
  std::uint32_t crc32 = 0;      ///< SegmentSource::crc32
  std::vector<Record> records;  ///< numbered from 0
};

/// Turns segments into records. Each thread has its own.
class SegmentDecoder {
 public:
  SegmentDecoder(const std::string& file, Compression compression,
                 const ParallelRecordReaderOptions& options);
  /// Returns the records that begin in the segment. Never throws.
  DecodedSegment decode(const Segment& segment);

 private:
  bool decode_records(const Segment& segment, DecodedSegment& decoded);

  const RecordReaderOptions options_;
  const std::uint64_t guessed_record_bytes_max_;
  RecordSearch search_;
  SegmentSource* source_ = nullptr;  // inside window_
  StreamWindow window_;
};

}  // namespace infeed::detail
