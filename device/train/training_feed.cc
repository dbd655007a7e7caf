#include "train/training_feed.h"

#include <algorithm>
#include <array>
#include <numeric>
#include <utility>

#include <infeed/device/device_batch.h>
#include <infeed/pipeline/detail/order_hash.h>
#include <infeed/pipeline/executor.h>

#include "refuse.h"

namespace infeed::detail {
namespace {

[[noreturn]] void refuse_rows(std::int64_t rows, const ShareFeed& feed) {
  if (rows * feed.replicas == feed.batch) {
    refuse(
        "distribute: the pipeline gives batches of {} rows, which is what one of {} replicas "
        "takes; distribute() divides global batches itself, so let the pipeline give {} rows",
        rows, feed.replicas, feed.batch);
  }
  refuse(
      "distribute: the pipeline gives a batch of {} rows, and {} were asked for; only the last "
      "batch may be shorter",
      rows, feed.batch);
}

void check_rows(std::int64_t rows, ShareFeed& feed) {
  if (feed.batch == 0) return;
  if (rows > feed.batch || (rows < feed.batch && !feed.iterator.peek().empty())) {
    refuse_rows(rows, feed);
  }
}

/// Returns the batch's first rows, again from its begin if there are too few: they stand for rows
/// that another rank makes, and nobody reads them.
ColumnBatch stand_in(const ColumnBatch& batch, std::int64_t rows) {
  if (rows <= batch.rows()) return batch.slice(0, rows);
  const std::array<ColumnBatch, 2> parts = {batch, stand_in(batch, rows - batch.rows())};
  return join_rows(parts);
}

/// Returns one share a replica, for a batch that has the rows of a rank's own replicas only.
std::vector<ColumnBatch> split_own_rows(const ColumnBatch& batch, const ShareFeed& feed) {
  const auto& [own, range] = *feed.own;
  if (batch.rows() != own.rows) {
    refuse(
        "fit: the pipeline gives {} of the {} rows that this rank makes of each batch of {}; all "
        "batches must be whole: put repeat() or whole_batches() before own_rows()",
        batch.rows(), own.rows, own.batch);
  }
  std::vector<ColumnBatch> shares;
  std::int64_t first = 0;
  for (std::int32_t replica = 0; replica < feed.replicas; ++replica) {
    const std::int64_t rows = examples_of_replica(own.batch, feed.replicas, replica);
    if (range.contains(replica)) {
      shares.push_back(batch.slice(first, rows));
      first += rows;
    } else {
      shares.push_back(stand_in(batch, rows));
    }
  }
  return shares;
}

/// Appends one share a replica, without rows if the data is over. Returns the pipeline's time.
std::int64_t append_shares(ShareFeed& feed, std::vector<ColumnBatch>& shares) {
  std::optional<ColumnBatch> batch;
  const std::int64_t begin_ns = monotonic_ns();
  if (!feed.is_over) batch = feed.iterator.next();
  if (!batch) {
    feed.is_over = true;
    shares.resize(shares.size() + static_cast<std::size_t>(feed.replicas));
    return 0;
  }
  const std::int64_t service_ns = feed.service.service_ns(feed.iterator, monotonic_ns() - begin_ns);
  check_rows(batch->rows(), feed);
  std::ranges::move(
      feed.own ? split_own_rows(*batch, feed) : split_over_replicas(*batch, feed.replicas),
      std::back_inserter(shares));
  return service_ns;
}

/// Gives shares without rows the columns of the others.
void name_columns(std::vector<ColumnBatch>& shares) {
  const auto filled = std::ranges::find_if(
      shares, [](const ColumnBatch& share) { return !share.columns().empty(); });
  if (filled == shares.end()) return;
  const ColumnBatch empty = filled->slice(0, 0);
  for (ColumnBatch& share : shares) {
    if (share.columns().empty()) share = empty;
  }
}

}  // namespace

TrainingFeed::TrainingFeed(std::vector<ShareFeed> feeds, const Options& options)
    : feeds_(std::move(feeds)), place_(std::make_shared<StepPlace>(reached())) {
  feeds_.front().iterator.core_for_timer().expect_steps(/*after_the_end=*/true);
  const auto replicas = [](std::int32_t sum, const ShareFeed& feed) { return sum + feed.replicas; };
  feeder_.emplace(
      Feeder::Options{.replicas = std::accumulate(feeds_.begin(), feeds_.end(), 0, replicas),
                      .feed = options.feed,
                      .depth = options.queue_depth},
      Feeder::Source{.next = [this](std::vector<FedShare>& step) { return fetch(step); },
                     .cancel =
                         [this] {
                           for (ShareFeed& feed : feeds_) feed.iterator.cancel();
                         }});
}

bool TrainingFeed::fetch(std::vector<FedShare>& step) {
  std::vector<ColumnBatch> shares;
  std::vector<std::int64_t> service_ns;
  for (ShareFeed& feed : feeds_) service_ns.push_back(append_shares(feed, shares));
  if (std::ranges::all_of(feeds_, &ShareFeed::is_over)) return false;
  name_columns(shares);
  const auto place = std::make_shared<const StepPlace>(reached(std::move(service_ns)));
  for (ColumnBatch& share : shares) step.push_back({std::move(share), place});
  return true;
}

StepPlace TrainingFeed::reached(std::vector<std::int64_t> service_ns) const {
  StepPlace place{.service_ns = std::move(service_ns)};
  OrderHash all;
  for (const ShareFeed& feed : feeds_) {
    Checkpoint checkpoint = feed.iterator.checkpoint();
    place.order_hash = checkpoint.order_hash;  // 0 if none is kept
    all.add(checkpoint.order_hash);
    place.checkpoints.push_back(with_all_rows(std::move(checkpoint)));
  }
  if (feeds_.size() > 1) place.order_hash = all.value();
  return place;
}

bool TrainingFeed::next(std::vector<ColumnBatch>& shares) {
  shares.clear();
  const std::int64_t begin_ns = monotonic_ns();
  const bool is_there = feeder_->next_step(arrivals_);
  wait_ns_ = monotonic_ns() - begin_ns;
  if (!is_there) return false;
  place_ = arrivals_.front().item.place;
  for (Feeder::Arrival& arrival : arrivals_) shares.push_back(std::move(arrival.item.rows));
  arrivals_.clear();
  return true;
}

InfeedFeed feed_for(InfeedFeed wanted, const IterateOptions& options) {
  const bool has_no_threads = options.executor != nullptr && options.executor->concurrency() == 0;
  return has_no_threads ? InfeedFeed::on_demand : wanted;
}

}  // namespace infeed::detail
