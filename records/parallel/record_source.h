#pragma once

#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "infeed/records/parallel_record_reader.h"
#include "parallel/segment_source.h"

/// The two ways in which ParallelRecordReader gets records in order.
namespace infeed::detail {

class RecordSource {
 public:
  virtual ~RecordSource() = default;
  /// Fills the front of `out`, which isn't empty, with at least one record, and returns how many. 0
  /// is the end.
  virtual std::size_t read(std::span<Record> out) = 0;
};

/// Calls `work` inside `around`, if there is one.
inline void call_around(const ParallelRecordReaderOptions::Around& around,
                        const std::function<void()>& work) {
  around ? around(work) : work();
}

using DamageSink = std::function<void(const DamagedRange&)>;

/// Makes a source whose threads read blocks: the segments of a compressed file, or parts of a plain one.
/// `reader` reads where they can't.
std::unique_ptr<RecordSource> make_block_source(const ParallelRecordReaderOptions& options,
                                                RecordReader& reader,
                                                std::vector<Segment> segments);

/// A source for which one thread runs `reader`. The reader's damage must go to
/// `damage_from_reader`; it comes out at `damage` inside the fetch() that it belongs to.
struct ReadAheadSource {
  std::unique_ptr<RecordSource> source;
  DamageSink damage_from_reader;
};
ReadAheadSource make_read_ahead_source(const ParallelRecordReaderOptions& options,
                                       RecordReader& reader, DamageSink damage);

}  // namespace infeed::detail
