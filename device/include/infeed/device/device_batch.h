#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include <infeed/records/column_batch.h>

/// Why: the device takes batches from any iterator, as columns by name. The columns share their
/// memory: nothing is copied on the way to the replicas.
///
///     struct Sample { std::array<float, 784> image; std::int32_t label; };
///     infeed::BatchSource batches_of(infeed::Iterator<infeed::Batch<Sample>>& iterator) {
///       return {.next = [&iterator](infeed::DeviceBatch& out) {
///         const std::optional<infeed::Batch<Sample>> batch = iterator.next();
///         if (!batch) return false;  // the end
///         out = infeed::device_batch(infeed::as_columns(*batch, {"image", "label"}));
///         return true;
///       }};
///     }
///
/// Thread-safety: values.
namespace infeed {

/// The batch that one step takes, over all replicas of a host. `columns` may be empty in paced
/// mode, which only counts. `bytes` are carried to the device.
struct DeviceBatch {
  std::int64_t examples = 0;
  std::int64_t bytes = 0;
  ColumnBatch columns = {};
};

/// Returns the batch, with rows and bytes counted from the columns.
DeviceBatch device_batch(ColumnBatch columns);

/// A source of batches. Called by one thread at a time.
struct BatchSource {
  /// Fills `out` and returns true, or returns false at the end. An exception ends the run.
  std::function<bool(DeviceBatch& out)> next = {};
  /// Optional. Called once when the run is over (by run_paced) or stopped, from any thread: a
  /// blocked next() must then soon return false or throw. Without it a stopped run ends when next()
  /// does. Must not throw.
  std::function<void()> cancel = {};
};

/// The reason why a run ended.
enum class RunEnd { end_of_data, steps_max, duration, cancelled };

/// Returns the share of a replica when G examples are divided over N replicas, as tf.distribute
/// does: ceil(G/N) for the first G mod N, floor(G/N) for the others. A replica may get none.
std::int64_t examples_of_replica(std::int64_t examples, std::int32_t replicas,
                                 std::int32_t replica);

/// Returns the shares in replica order, rows and bytes; they keep the whole batch alive.
std::vector<DeviceBatch> split_over_replicas(const DeviceBatch& batch, std::int32_t replicas);
std::vector<ColumnBatch> split_over_replicas(const ColumnBatch& batch, std::int32_t replicas);

}  // namespace infeed
