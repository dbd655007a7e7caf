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
  /// False: something is not as it should be. Somebody else has to look at it from the begin.
  bool is_good = false;
  std::uint64_t begin = 0;      ///< of the first record
  std::uint64_t end = 0;        ///< of the last record
  std::uint32_t crc32 = 0;      ///< SegmentSource::crc32
  std::vector<Record> records;  ///< numbered from 0
};

/// Turns segments into records. One a thread.
class SegmentDecoder {
 public:
  SegmentDecoder(const std::string& file, Compression compression,
                 const ParallelRecordReaderOptions& options);
  /// The records that begin in the segment. Never throws.
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
