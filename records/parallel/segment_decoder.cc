#include "parallel/segment_decoder.h"

#include <algorithm>
#include <exception>
#include <utility>

#include "tfrecord/record_scan.h"
#include "tfrecord/resynchronise.h"

namespace infeed::detail {
namespace {

/// Most segments that a guessed record may span. A header found in the middle of a file may lie,
/// and every segment could begin with one that claims the whole rest. A longer record is left to
/// the reader that reads from the front.
constexpr std::uint64_t kGuessedRecordSegments = 16;

}  // namespace

SegmentDecoder::SegmentDecoder(const std::string& file, Compression compression,
                               const ParallelRecordReaderOptions& options)
    : options_(options.reader),
      guessed_record_bytes_max_(
          std::min(kGuessedRecordSegments * options.segment_bytes, options_.record_bytes_max)),
      search_(options_.record_bytes_max),
      window_(
          [&] {
            auto source = make_segment_source(file, compression, options_.block_bytes);
            source_ = source.get();
            return source;
          }(),
          // The blocks of a few segments are in use at a time.
          std::make_shared<BlockPool>(
              file, FreeBlocks{.blocks_max = 4 + 4 * options.segment_bytes / options_.block_bytes},
              options.spare_blocks),
          options_.block_bytes) {}

DecodedSegment SegmentDecoder::decode(const Segment& segment) {
  DecodedSegment decoded;
  try {
    source_->begin(segment);
    window_.start_at(segment.stream_begin);
    const bool is_found =
        !segment.is_guess ||
        search_.find_record(window_, {segment.stream_end, guessed_record_bytes_max_});
    decoded.begin = window_.offset();
    decoded.is_good = is_found && decode_records(segment, decoded);
    decoded.crc32 = source_->crc32();
  } catch (const std::exception&) {  // the next reader of the segment meets and reports it
    decoded.is_good = false;
  }
  return decoded;
}

bool SegmentDecoder::decode_records(const Segment& segment, DecodedSegment& decoded) {
  constexpr std::size_t kBatch = 256;
  std::vector<Record>& records = decoded.records;
  const ScanOptions scan_options{options_.verify == Verify::everything, options_.record_bytes_max};
  bool at_end = false;
  while (!at_end && window_.offset() < segment.stream_end) {
    const std::size_t before = records.size();
    records.resize(before + kBatch);
    const Scan scan =
        scan_window(window_, std::span(records).subspan(before), before, scan_options);
    records.resize(before + scan.count);
    if (scan.count != 0) continue;
    if (scan.stop != FrameState::needs_bytes) return false;
    // Where records are known to begin, none passes the segment's end.
    const std::uint64_t record_bytes_max =
        segment.is_guess
            ? guessed_record_bytes_max_
            : std::min(options_.record_bytes_max, segment.stream_end - window_.offset());
    at_end = !fetch_frame(window_, record_bytes_max).is_whole();
    if (at_end &&
        (window_.size() != 0 || window_.damage() || segment.stream_end != Segment::kToEnd)) {
      return false;
    }
  }
  decoded.end = window_.offset();
  while (!records.empty() && *records.back().offset() - kHeaderBytes >= segment.stream_end) {
    decoded.end = *records.back().offset() - kHeaderBytes;  // it belongs to the next segment
    records.pop_back();
  }
  return true;
}

}  // namespace infeed::detail
