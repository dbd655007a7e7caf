#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include <infeed/device/infeed_queue.h>
#include <infeed/pipeline/checkpoint.h>
#include <infeed/pipeline/iterate_options.h>
#include <infeed/share.h>

#include "time/host_feeder.h"
#include "train/pipeline_service.h"
#include "train/ranks/replica_range.h"

namespace infeed::detail {

/// The part of each batch that a pipeline makes, and whose it is.
struct PartOfBatch {
  RowShare rows;
  ReplicaRange replicas;
};

/// A pipeline, and the replicas that it feeds.
struct ShareFeed {
  Iterator<ColumnBatch> iterator;
  std::int32_t replicas = 1;
  /// Rows that each batch but the last one must have; 0: any number.
  std::int64_t batch = 0;
  /// The pipeline makes the rows of these replicas of whole batches, and other ranks make those of
  /// the others.
  std::optional<PartOfBatch> own = std::nullopt;
  bool is_over = false;
  PipelineService service = {};
};

/// The place behind a step, and its service times.
struct StepPlace {
  /// Places behind the step, one for each pipeline, as if this process made all rows.
  std::vector<Checkpoint> checkpoints = {};
  std::uint64_t order_hash = 0;               ///< hash of all batches up to it
  std::vector<std::int64_t> service_ns = {};  ///< time of each pipeline for the step
};

/// One replica's share of a step, waiting in its queue.
struct FedShare {
  ColumnBatch rows;
  std::shared_ptr<const StepPlace> place;
};

/// Why: a training takes its steps out of the replicas' queues, as a TPU does. Steps that wait
/// there aren't trained on yet. So each step brings the place behind it along, and a checkpoint
/// never covers more than has been trained on.
///
/// One step's rows come from one pipeline that all replicas share, or from one a host. Where other
/// ranks make the rows of their replicas, the shares of these have as many rows, but not theirs. The
/// shares are in replica order. A host whose data is over gives its replicas no rows while the others go
/// on.
///
/// Thread-safety: one thread at a time; any thread may call cancel().
class TrainingFeed {
 public:
  struct Options {
    InfeedFeed feed = InfeedFeed::ahead;
    std::int32_t queue_depth = 2;
  };
  TrainingFeed(std::vector<ShareFeed> feeds, const Options& options);

  /// Takes the next step's shares, one a replica; returns false at the end. A pipeline's exception
  /// is thrown behind the steps before it.
  bool next(std::vector<ColumnBatch>& shares);
  /// Returns the place behind the last step that was taken, or the beginning. Never null.
  const std::shared_ptr<const StepPlace>& place() const { return place_; }
  /// Returns the time that the last next() waited.
  std::int64_t wait_ns() const { return wait_ns_; }
  TuningReport tuning() const { return feeds_.front().iterator.tuning(); }
  void record_step(const StepTimes& step) { feeds_.front().iterator.record_step(step); }
  void cancel() { feeder_->stop(); }

 private:
  using Feeder = HostFeeder<FedShare>;

  bool fetch(std::vector<FedShare>& step);
  /// Returns the current place of the pipelines.
  StepPlace reached(std::vector<std::int64_t> service_ns = {}) const;

  std::vector<ShareFeed> feeds_;
  std::shared_ptr<const StepPlace> place_;
  std::vector<Feeder::Arrival> arrivals_;
  std::int64_t wait_ns_ = 0;
  std::optional<Feeder> feeder_;  // last: its thread uses the feeds
};

/// Returns on_demand for a pipeline that runs only in its consumer's thread: it must not move to
/// another.
InfeedFeed feed_for(InfeedFeed wanted, const IterateOptions& options);

}  // namespace infeed::detail
