#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "infeed/records/parallel_record_reader.h"
#include "parallel/segment_source.h"

/// The two ways of ParallelRecordReader to get at records in order.
namespace infeed::detail {

class RecordSource {
 public:
  virtual ~RecordSource() = default;
  /// Replaces `out` by the next records; false is the end.
  virtual bool fetch(std::vector<Record>& out) = 0;
};

/// Calls `work` by way of `around`, where there is one.
inline void call_around(const ParallelRecordReaderOptions::Around& around,
                        const std::function<void()>& work) {
  around ? around(work) : work();
}

using DamageSink = std::function<void(const DamagedRange&)>;

/// Threads decode segments; `reader` stands by for what they can't.
std::unique_ptr<RecordSource> make_segmented_source(const ParallelRecordReaderOptions& options,
                                                    std::vector<Segment> segments,
                                                    RecordReader& reader);

/// One thread runs `reader`. What the reader tells of damage must go to `damage_from_reader`; it
/// comes out at `damage` inside the fetch() that it belongs to.
struct ReadAheadSource {
  std::unique_ptr<RecordSource> source;
  DamageSink damage_from_reader;
};
ReadAheadSource make_read_ahead_source(const ParallelRecordReaderOptions& options,
                                       RecordReader& reader, DamageSink damage);

}  // namespace infeed::detail
