#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <infeed/pipeline/iterator.h>
#include <infeed/records/column_batch.h>

#include "train/pipeline_service.h"

namespace infeed::detail {

/// A pipeline, and the replicas that it feeds.
struct ShareFeed {
  Iterator<ColumnBatch> iterator;
  std::int32_t replicas = 1;
  /// Rows that its batches must have, but for the last one; 0: any number.
  std::int64_t batch = 0;
  bool is_over = false;
};

/// Why: one step's rows come from one pipeline that all replicas share, or from one a host. This makes
/// shares of them, in replica order; whose data is over gives its replicas no rows while the others go
/// on.
///
/// Thread-safety: one thread at a time; cancel() from any.
class ShareFeeds {
 public:
  explicit ShareFeeds(std::vector<ShareFeed> feeds);

  std::int32_t replicas() const;
  /// False when all are over.
  bool next(std::vector<ColumnBatch>& shares);
  /// Returns the time that each pipeline needs for the shares of the last next().
  const std::vector<std::int64_t>& service_ns() const { return service_ns_; }
  std::vector<Checkpoint> checkpoints() const;
  /// Returns one number for all batches so far; 0 without IterateOptions::order_hash.
  std::uint64_t order_hash() const;
  void cancel();
  Iterator<ColumnBatch>& first() { return feeds_.front().iterator; }
  const Iterator<ColumnBatch>& first() const { return feeds_.front().iterator; }

 private:
  bool append_shares(std::size_t feed, std::vector<ColumnBatch>& shares);

  std::vector<ShareFeed> feeds_;
  std::vector<PipelineService> services_;
  std::vector<std::int64_t> service_ns_;
};

}  // namespace infeed::detail
