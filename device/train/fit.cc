#include "infeed/device/fit.h"

#include <algorithm>
#include <fmt/format.h>
#include <utility>

#include <infeed/communicator.h>
#include <infeed/device/distribute.h>
#include <infeed/device/strategy.h>
#include <infeed/error.h>
#include <infeed/share.h>

#include "refuse.h"
#include "train/fit_checks.h"
#include "train/fit_run.h"
#include "train/simulated_steps.h"

namespace infeed {
namespace {

std::string row(std::string_view name, const StepSummary& summary) {
  const std::vector<int> shares =
      permille({summary.infeed_wait_ps, summary.transfer_ps, summary.compute_ps,
                summary.all_reduce_ps, summary.idle_ps});
  const auto steps = static_cast<double>(std::max<std::int64_t>(summary.steps, 1));
  return fmt::format("{:12} {:6.1f} {:9.1f} {:8.1f} {:11.1f} {:6.1f} {:8.2f} ms\n", name,
                     shares[0] / 10.0, shares[1] / 10.0, shares[2] / 10.0, shares[3] / 10.0,
                     shares[4] / 10.0, static_cast<double>(summary.step_ps) * 1e-9 / steps);
}

}  // namespace

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

FitResult fit(const Training& training, const Slice& slice, const SharedBatches& batches,
              const FitOptions& options) {
  detail::check_fit(training, options);
  if (batches.rows < 1 || !batches.pipeline) {
    detail::refuse("SharedBatches has {} rows and {} pipeline; give both", batches.rows,
                   batches.pipeline ? "a" : "no");
  }
  const Communicator* const ranks = options.worker.communicator;
  const World world = ranks == nullptr ? World{} : ranks->world();
  const std::int32_t replicas = slice.num_replicas();
  const RowShare rows = detail::rows_of_rank(world, replicas, batches.rows);
  const detail::ReplicaRange range = rows.is_whole() ? detail::ReplicaRange{.count = replicas}
                                                     : detail::replicas_of_rank(replicas, world);
  const Dataset<ColumnBatch> own = batches.pipeline(rows);
  FitOptions without_hash = options;
  without_hash.iterate.order_hash = false;
  detail::FitTarget target{.slice = slice,
                           .replicas = detail::replica_options(slice, options, &training.scope),
                           .feeds =
                               [&](IterateOptions iterate, std::vector<Checkpoint> resume) {
                                 if (!resume.empty())
                                   iterate.resume = with_own_rows(std::move(resume.front()), own);
                                 std::vector<detail::ShareFeed> feeds;
                                 feeds.push_back({.iterator = own.iterate(std::move(iterate)),
                                                  .replicas = replicas,
                                                  .own = detail::PartOfBatch{rows, range}});
                                 return feeds;
                               },
                           .feed = {.feed = detail::feed_for(options.feed, options.iterate),
                                    .queue_depth = options.queue_depth},
                           .hashes_rows = options.iterate.order_hash};
  return detail::run_fit(training, std::move(target), without_hash);
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

StepSummary FitResult::steady() const {
  return detail::without_compilations(simulated, compilations);
}

std::string FitResult::table() const {
  std::string text = fmt::format("{:12} {:>6} {:>9} {:>8} {:>11} {:>6} {:>11}\n", "", "wait",
                                 "transfer", "compute", "all-reduce", "idle", "a step");
  text += row("host", wall);
  const StepSummary device = steady();
  text += row(slice, device);
  if (!epochs.empty()) {
    const Metrics& last = epochs.back().validation.value_or(epochs.back().training);
    text += fmt::format("loss {:.4f}, accuracy {:.1f} %{}; ", last.loss(), 100 * last.accuracy(),
                        epochs.back().validation ? " (validation)" : "");
  }
  text += fmt::format("model FLOP utilisation {:.1f} %; ", 100 * model_flop_utilisation);
  const std::int64_t compiled_ps = simulated.step_ps - device.step_ps;
  text +=
      fmt::format("{} shape{} of batch compiled in {:.1f} s\n", compilations.size(),
                  compilations.size() == 1 ? "" : "s", static_cast<double>(compiled_ps) * 1e-12);
  text += wall.sentence_with_clock() + "\n" + device.sentence_with_clock() + "\n";
  if (!message.empty()) text += message + "\n";
  return text;
}

}  // namespace infeed
