#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <infeed/device/infeed_queue.h>
#include <infeed/device/per_replica.h>
#include <infeed/pipeline/dataset.h>
#include <infeed/records/column_batch.h>

/// Why: each host of a slice reads its own part of the data, and each of its replicas gets its
/// share of a *global* batch. The division is stated once, not in every pipeline.
///
///     infeed::DistributedDataset input = strategy.distribute(
///         infeed::match_files("data/train-*.tfrecord"),
///         [](const infeed::HostInput& host) {
///           return infeed::records(host.files)
///                | infeed::parse_columns(column_schema, host.batch);
///         },
///         {.global_batch = 1024});
///     infeed::DistributedIterator iterator = input.iterate();
///     while (auto shares = iterator.next()) strategy.apply(strategy.run(forward, *shares), adam);
///
/// Batches are global: of 1024 rows on 8 replicas each gets 128. A pipeline that gives 128, one
/// replica's share, would train with a batch eight times too small; the error says so.
///
/// A host whose data is over gives its replicas no rows while the others go on.
///
/// Thread-safety: DistributedDataset as Dataset, DistributedIterator as Iterator.
/// Errors: invalid_argument: a policy that can't be applied, batches of an unannounced size.
namespace infeed {

/// Divides the data over the hosts, as tf.data's AutoShardPolicy.
enum class ShardPolicy : std::uint8_t {
  automatic,  ///< file if there is a file for every host, else data
  file,       ///< host h of H reads files h, h + H, ... and batches its part of a global batch
  data,       ///< every host reads everything and keeps its rows of each global batch
  off,        ///< every host reads and keeps everything: the pipelines divide the data themselves
};

/// "auto", "file", "data", "off".
std::string_view to_string(ShardPolicy policy);
ShardPolicy shard_policy_from(std::string_view name);

struct DistributeOptions {
  std::int64_t global_batch = 0;  ///< rows of a step over all replicas; required
  ShardPolicy policy = ShardPolicy::automatic;
  /// Ahead: a thread fills the replicas' queues while they compute.
  InfeedFeed feed = InfeedFeed::ahead;
  std::int32_t queue_depth = 2;  ///< steps that each replica's queue holds
};

/// The arguments from which one host's pipeline is made.
struct HostInput {
  std::vector<std::string> files = {};  ///< files that the host reads, in order
  std::int64_t batch = 0;  ///< rows that its batches must have; the last one may be short
  std::int32_t host = 0;
  std::int32_t hosts = 1;
};

using HostPipeline = std::function<Dataset<ColumnBatch>(const HostInput& host)>;

namespace detail {
class TrainingFeed;
struct ShareFeed;
}  // namespace detail

/// Takes the shares of step after step, in replica order, out of the replicas' queues.
class DistributedIterator {
 public:
  /// Returns nothing when every host's data is over.
  std::optional<PerReplica<ColumnBatch>> next();
  /// Returns one place for each pipeline, behind the last step that was taken. Pass it to
  /// DistributedDataset::iterate().
  std::vector<Checkpoint> checkpoint() const;
  /// Any thread may call it: a waiting next() throws Error cancelled, and so does each later one.
  void cancel();

 private:
  friend class DistributedDataset;
  explicit DistributedIterator(std::shared_ptr<detail::TrainingFeed> feed)
      : feed_(std::move(feed)) {}

  std::shared_ptr<detail::TrainingFeed> feed_;
};

/// Input for all hosts of a slice. Strategy::distribute() makes it.
class DistributedDataset {
 public:
  /// `replicas_of_hosts`: how many replicas each host feeds.
  DistributedDataset(std::vector<std::int32_t> replicas_of_hosts, std::vector<std::string> files,
                     const HostPipeline& pipeline, DistributeOptions options);
  /// For a dataset that finds its files itself: policies automatic, data and off.
  DistributedDataset(std::vector<std::int32_t> replicas_of_hosts, Dataset<ColumnBatch> global,
                     DistributeOptions options);

  const DistributeOptions& options() const { return options_; }
  /// The policy in use; never automatic.
  ShardPolicy policy() const { return policy_; }
  /// `resume`: from DistributedIterator::checkpoint(), empty for the start. With several pipelines
  /// each gets these options, limits too.
  DistributedIterator iterate(IterateOptions options = {},
                              std::vector<Checkpoint> resume = {}) const;
  /// Returns the shares as fit() takes them.
  std::vector<detail::ShareFeed> feeds(const IterateOptions& options,
                                       std::vector<Checkpoint> resume) const;

 private:
  std::vector<std::int32_t> replicas_of_hosts_;
  DistributeOptions options_;
  ShardPolicy policy_;
  /// One pipeline a host; a single one where all hosts read the same and share the rows (data).
  std::vector<Dataset<ColumnBatch>> pipelines_;
};

}  // namespace infeed
