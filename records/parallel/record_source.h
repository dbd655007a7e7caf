#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "infeed/records/parallel_record_reader.h"
#include "parallel/segment_source.h"

/// The two ways of ParallelRecordReader to get at records in order.
namespace infeed::detail {

class RecordFeed {
 public:
  virtual ~RecordFeed() = default;
  /// Replaces `out` by the next records; false is the end.
  virtual bool fetch(std::vector<Record>& out) = 0;
};

using DamageSink = std::function<void(const DamagedRange&)>;

/// Threads decode segments; `reader` stands by for what they can't.
std::unique_ptr<RecordFeed> make_segment_feed(const ParallelRecordReaderOptions& options,
                                              std::vector<Segment> segments, RecordReader& reader);

/// One thread runs `reader`. What the reader tells of damage must go to `damage_from_reader`; it
/// comes out at `damage` inside the fetch() that it belongs to.
struct AheadFeed {
  std::unique_ptr<RecordFeed> feed;
  DamageSink damage_from_reader;
};
AheadFeed make_ahead_feed(const ParallelRecordReaderOptions& options, RecordReader& reader,
                          DamageSink damage);

}  // namespace infeed::detail
