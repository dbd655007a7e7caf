#include "infeed/device/fit.h"

#include <optional>
#include <utility>

#include <infeed/device/distribute.h>
#include <infeed/device/strategy.h>
#include <infeed/error.h>

#include "train/fit_checks.h"
#include "train/fit_run.h"

namespace infeed {

FitResult fit(const Training& training, const Slice& slice, const Dataset<ColumnBatch>& batches,
              const FitOptions& options) {
  detail::check_fit(training, options);
  detail::FitTarget target{.slice = slice,
                           .replicas = detail::replica_options(slice, options, &training.scope),
                           .feeds =
                               [&](IterateOptions iterate, std::vector<Checkpoint> resume) {
                                 if (!resume.empty()) iterate.resume = std::move(resume.front());
                                 std::vector<detail::ShareFeed> feeds;
                                 feeds.push_back({.iterator = batches.iterate(std::move(iterate)),
                                                  .replicas = slice.num_replicas()});
                                 return feeds;
                               },
                           .feed = {.feed = detail::feed_for(options.feed, options.iterate),
                                    .queue_depth = options.queue_depth}};
  return detail::run_fit(training, std::move(target), options);
}

FitResult fit(const Training& training, const Dataset<ColumnBatch>& batches,
              const FitOptions& options) {
  FitResult result = fit(training, Slice::single_device(), batches, options);
  result.message = single_device_message();
  return result;
}

FitResult fit(const Training& training, const Strategy& strategy, const DistributedDataset& batches,
              const FitOptions& options) {
  detail::check_fit(training, options);
  FitOptions own = options;
  own.precision = strategy.options().precision;
  own.seed = strategy.options().seed;
  detail::FitTarget target{
      .slice = strategy.slice(),
      .replicas = strategy.replica_options(),
      .feeds =
          [&](const IterateOptions& iterate, std::vector<Checkpoint> resume) {
            return batches.feeds(iterate, std::move(resume));
          },
      .feed = {.feed = detail::feed_for(batches.options().feed, options.iterate),
               .queue_depth = batches.options().queue_depth}};
  FitResult result = detail::run_fit(training, std::move(target), own);
  result.message = strategy.message();
  return result;
}

Metrics evaluate(const ReplicaFunction& forward, const Slice& slice,
                 const Dataset<ColumnBatch>& batches, const FitOptions& options) {
  detail::ReplicaSteps replicas(detail::replica_options(slice, options));
  std::optional<Metrics> metrics = detail::evaluate_all(replicas, forward, batches, options);
  if (!metrics) throw Error(ErrorCode::cancelled, "stopped");
  return std::move(*metrics);
}

}  // namespace infeed
