#include "train/training_feed.h"

#include <utility>

#include <infeed/pipeline/executor.h>

namespace infeed::detail {

TrainingFeed::TrainingFeed(std::vector<ShareFeed> feeds, const Options& options)
    : feeds_(std::move(feeds)),
      place_(std::make_shared<StepPlace>(
          StepPlace{.checkpoints = feeds_.checkpoints(), .order_hash = feeds_.order_hash()})) {
  feeds_.first().core_for_timer().expect_late_steps();
  feeder_.emplace(
      Feeder::Options{
          .replicas = feeds_.replicas(), .feed = options.feed, .depth = options.queue_depth},
      Feeder::Source{.next = [this](std::vector<FedShare>& step) { return fetch(step); },
                     .cancel = [this] { feeds_.cancel(); }});
}

bool TrainingFeed::fetch(std::vector<FedShare>& step) {
  fetched_.clear();
  if (!feeds_.next(fetched_)) return false;
  const auto place =
      std::make_shared<const StepPlace>(StepPlace{.checkpoints = feeds_.checkpoints(),
                                                  .order_hash = feeds_.order_hash(),
                                                  .service_ns = feeds_.service_ns()});
  for (ColumnBatch& share : fetched_) step.push_back({std::move(share), place});
  return true;
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
