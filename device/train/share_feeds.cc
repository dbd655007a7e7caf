#include "train/share_feeds.h"

#include <algorithm>
#include <optional>
#include <utility>

#include <infeed/device/device_batch.h>
#include <infeed/pipeline/detail/order_hash.h>

#include "refuse.h"
#include "time/monotonic_ns.h"

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

/// Those without rows still know the columns.
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

ShareFeeds::ShareFeeds(std::vector<ShareFeed> feeds)
    : feeds_(std::move(feeds)), services_(feeds_.size()), service_ns_(feeds_.size()) {}

std::int32_t ShareFeeds::replicas() const {
  std::int32_t replicas = 0;
  for (const ShareFeed& feed : feeds_) replicas += feed.replicas;
  return replicas;
}

bool ShareFeeds::next(std::vector<ColumnBatch>& shares) {
  bool any = false;
  for (std::size_t i = 0; i < feeds_.size(); ++i) any = append_shares(i, shares) || any;
  if (any) name_columns(shares);
  return any;
}

bool ShareFeeds::append_shares(std::size_t number, std::vector<ColumnBatch>& shares) {
  ShareFeed& feed = feeds_[number];
  std::optional<ColumnBatch> batch;
  const std::int64_t begin_ns = monotonic_ns();
  if (!feed.is_over) batch = feed.iterator.next();
  service_ns_[number] = 0;
  if (!batch) {
    feed.is_over = true;
    shares.resize(shares.size() + static_cast<std::size_t>(feed.replicas));
    return false;
  }
  service_ns_[number] = services_[number].service_ns(feed.iterator, monotonic_ns() - begin_ns);
  check_rows(batch->rows(), feed);
  for (ColumnBatch& share : split_over_replicas(*batch, feed.replicas)) {
    shares.push_back(std::move(share));
  }
  return true;
}

std::vector<Checkpoint> ShareFeeds::checkpoints() const {
  std::vector<Checkpoint> places;
  for (const ShareFeed& feed : feeds_) places.push_back(feed.iterator.checkpoint());
  return places;
}

std::uint64_t ShareFeeds::order_hash() const {
  if (feeds_.size() == 1) return feeds_.front().iterator.order_hash();
  OrderHash all;
  for (const ShareFeed& feed : feeds_) all.add(feed.iterator.order_hash());
  return all.value();
}

void ShareFeeds::cancel() {
  for (ShareFeed& feed : feeds_) feed.iterator.cancel();
}

}  // namespace infeed::detail
