#include "infeed/device/distribute.h"

#include <algorithm>
#include <array>
#include <fmt/format.h>
#include <numeric>
#include <utility>

#include <infeed/device/device_batch.h>
#include <infeed/pipeline/rebatch.h>

#include "refuse.h"
#include "train/training_feed.h"

namespace infeed {
namespace {

constexpr std::array<std::string_view, 4> kPolicies = {"auto", "file", "data", "off"};

std::int32_t count_replicas(const std::vector<std::int32_t>& replicas_of_hosts) {
  return std::accumulate(replicas_of_hosts.begin(), replicas_of_hosts.end(), 0);
}

/// Returns the rows of each host in a global batch.
std::vector<std::int64_t> rows_of_hosts(const std::vector<std::int32_t>& replicas_of_hosts,
                                        std::int64_t global_batch) {
  const std::int32_t replicas = count_replicas(replicas_of_hosts);
  std::vector<std::int64_t> rows;
  std::int32_t replica = 0;
  for (const std::int32_t of_host : replicas_of_hosts) {
    rows.push_back(0);
    for (std::int32_t i = 0; i < of_host; ++i) {
      rows.back() += examples_of_replica(global_batch, replicas, replica++);
    }
  }
  return rows;
}

void check_options(const DistributeOptions& options) {
  if (options.global_batch >= 1) return;
  detail::refuse("distribute: a global_batch of {}; say how many rows a step has over all replicas",
                 options.global_batch);
}

/// Throws unless each host has some rows of a global batch.
void check_every_host_has_rows(const std::vector<std::int64_t>& rows, ShardPolicy policy) {
  if (rows.back() > 0) return;
  const std::int64_t global_batch = std::accumulate(rows.begin(), rows.end(), std::int64_t{0});
  detail::refuse(
      "distribute: a global batch of {} rows leaves some of {} hosts without any, which with "
      "policy {} have pipelines of their own; take a larger batch, or policy data",
      global_batch, rows.size(), to_string(policy));
}

ShardPolicy decided(ShardPolicy policy, std::size_t files,
                    const std::vector<std::int64_t>& rows_of_hosts) {
  const std::size_t hosts = rows_of_hosts.size();
  if (policy == ShardPolicy::automatic) {
    const bool can_share_files = files >= hosts && rows_of_hosts.back() > 0;
    return can_share_files ? ShardPolicy::file : ShardPolicy::data;
  }
  if (policy == ShardPolicy::file && files < hosts) {
    detail::refuse(
        "distribute: {} file{} can't be shared out among {} hosts; write more shards, or take "
        "policy data, with which each host reads everything and keeps its rows",
        files, files == 1 ? "" : "s", hosts);
  }
  return policy;
}

}  // namespace

std::string_view to_string(ShardPolicy policy) {
  return kPolicies[static_cast<std::size_t>(policy)];
}

ShardPolicy shard_policy_from(std::string_view name) {
  const auto found = std::ranges::find(kPolicies, name);
  if (found == kPolicies.end()) {
    detail::refuse("there is no policy '{}'; take one of {}", name, fmt::join(kPolicies, ", "));
  }
  return static_cast<ShardPolicy>(found - kPolicies.begin());
}

std::optional<PerReplica<ColumnBatch>> DistributedIterator::next() {
  std::vector<ColumnBatch> shares;
  if (!feed_->next(shares)) return std::nullopt;
  return PerReplica<ColumnBatch>(std::move(shares), feed_->place()->service_ns);
}

std::vector<Checkpoint> DistributedIterator::checkpoint() const {
  return feed_->place()->checkpoints;
}

void DistributedIterator::cancel() { feed_->cancel(); }

DistributedDataset::DistributedDataset(std::vector<std::int32_t> replicas_of_hosts,
                                       std::vector<std::string> files, const HostPipeline& pipeline,
                                       DistributeOptions options)
    : replicas_of_hosts_(std::move(replicas_of_hosts)), options_(options) {
  check_options(options_);
  const std::vector<std::int64_t> rows = rows_of_hosts(replicas_of_hosts_, options_.global_batch);
  policy_ = decided(options_.policy, files.size(), rows);
  if (policy_ == ShardPolicy::data) {
    pipelines_.push_back(pipeline({.files = std::move(files), .batch = options_.global_batch}));
    return;
  }
  check_every_host_has_rows(rows, policy_);
  const std::size_t hosts = rows.size();
  for (std::size_t host = 0; host < hosts; ++host) {
    HostInput input{.batch = rows[host],
                    .host = static_cast<std::int32_t>(host),
                    .hosts = static_cast<std::int32_t>(hosts)};
    const bool is_shared = policy_ == ShardPolicy::file;
    for (std::size_t i = is_shared ? host : 0; i < files.size(); i += is_shared ? hosts : 1) {
      input.files.push_back(files[i]);
    }
    pipelines_.push_back(pipeline(input));
  }
}

DistributedDataset::DistributedDataset(std::vector<std::int32_t> replicas_of_hosts,
                                       Dataset<ColumnBatch> global, DistributeOptions options)
    : replicas_of_hosts_(std::move(replicas_of_hosts)), options_(options) {
  check_options(options_);
  if (options_.policy == ShardPolicy::file) {
    detail::refuse(
        "distribute: a dataset that is made can't be divided by its files; give distribute() the "
        "files and a function that makes a host's pipeline of them");
  }
  policy_ = options_.policy == ShardPolicy::off ? ShardPolicy::off : ShardPolicy::data;
  if (policy_ == ShardPolicy::data) {
    pipelines_.push_back(std::move(global));
    return;
  }
  const std::vector<std::int64_t> rows = rows_of_hosts(replicas_of_hosts_, options_.global_batch);
  check_every_host_has_rows(rows, policy_);
  for (const std::int64_t of_host : rows) pipelines_.push_back(global | rebatch(of_host));
}

std::vector<detail::ShareFeed> DistributedDataset::feeds(const IterateOptions& options,
                                                         std::vector<Checkpoint> resume) const {
  if (!resume.empty() && resume.size() != pipelines_.size()) {
    detail::refuse(
        "distribute: a checkpoint of {} pipelines for {}; it belongs to another slice or policy",
        resume.size(), pipelines_.size());
  }
  const std::vector<std::int64_t> rows = rows_of_hosts(replicas_of_hosts_, options_.global_batch);
  const bool is_data = policy_ == ShardPolicy::data;
  std::vector<detail::ShareFeed> feeds;
  for (std::size_t i = 0; i < pipelines_.size(); ++i) {
    IterateOptions of_pipeline = options;
    if (!resume.empty()) of_pipeline.resume = std::move(resume[i]);
    feeds.push_back(
        {.iterator = pipelines_[i].iterate(std::move(of_pipeline)),
         .replicas = is_data ? count_replicas(replicas_of_hosts_) : replicas_of_hosts_[i],
         .batch = is_data ? options_.global_batch : rows[i]});
  }
  return feeds;
}

DistributedIterator DistributedDataset::iterate(IterateOptions options,
                                                std::vector<Checkpoint> resume) const {
  const InfeedFeed feed = detail::feed_for(options_.feed, options);
  return DistributedIterator(std::make_shared<detail::TrainingFeed>(
      feeds(options, std::move(resume)),
      detail::TrainingFeed::Options{.feed = feed, .queue_depth = options_.queue_depth}));
}

}  // namespace infeed
