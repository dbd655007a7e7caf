#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "infeed/records/parallel_record_reader.h"
#include "parallel/segment_source.h"

/// The two ways in which ParallelRecordReader gets records in order.
namespace infeed::detail {

class RecordSource {
 public:
  virtual ~RecordSource() = default;
  /// Replaces `out` by the next records. Returns false at the end.
  virtual bool fetch(std::vector<Record>& out) = 0;
};

/// Calls `work` inside `around`, if there is one.
inline void call_around(const ParallelRecordReaderOptions::Around& around,
                        const std::function<void()>& work) {
  around ? around(work) : work();
}

using DamageSink = std::function<void(const DamagedRange&)>;

/// Makes a source whose threads decode segments. `reader` reads where they can't.
std::unique_ptr<RecordSource> make_segmented_source(const ParallelRecordReaderOptions& options,
                                                    std::vector<Segment> segments,
                                                    RecordReader& reader);

/// A source for which one thread runs `reader`. The reader's damage must go to
/// `damage_from_reader`; it comes out at `damage` inside the fetch() that it belongs to.
struct ReadAheadSource {
  std::unique_ptr<RecordSource> source;
  DamageSink damage_from_reader;
};
ReadAheadSource make_read_ahead_source(const ParallelRecordReaderOptions& options,
                                       RecordReader& reader, DamageSink damage);

}  // namespace infeed::detail
