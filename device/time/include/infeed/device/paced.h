#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <span>
#include <stop_token>
#include <vector>

#include <infeed/device/cost_model.h>
#include <infeed/device/global_batch.h>
#include <infeed/device/slice.h>
#include <infeed/device/step_accounting.h>

/// Why: to measure a pipeline, the device must take batches exactly when a TPU would, without
/// taking the CPU that the pipeline needs. Paced mode drains the real per-replica queues and holds
/// every step to an absolute deadline; no arithmetic runs.
///
///     infeed::PacedResult result = infeed::run_paced(slice, source,
///         {.step = infeed::step_time(infeed::workload("resnet50-28"), slice, 1024),
///          .duration = std::chrono::seconds(3), .warmup_steps = 10});
///     fmt::print("{}\n", result.summary.sentence());
///
/// How: step i starts at max(end of step i-1, arrival of its batch on the device) and ends one step
/// time later; the caller's thread sleeps until that instant (clock_nanosleep, TIMER_ABSTIME, timer
/// slack 1 ns). Starts are computed, not measured after the sleep, so late wake-ups don't add up.
/// Arrival is when the source handed the batch over plus the transfer to the device.
namespace infeed {

enum class InfeedFeed {
  /// A thread a host fetches ahead into the queues while the device works: what a TPU host does.
  ahead,
  /// The next batch is fetched when the step has ended: the training loop without any overlap. For
  /// slices of one host.
  on_demand,
};

struct PacedOptions {
  StepTime step = {};  ///< must be longer than 0
  InfeedFeed feed = InfeedFeed::ahead;
  std::int32_t queue_depth = 2;  ///< steps that each replica's queue holds
  std::int64_t steps_max = 0;    ///< counted steps; 0: no limit
  std::chrono::nanoseconds duration{
      0};                         ///< of the counted steps, looked at after each; 0: no limit
  std::int64_t warmup_steps = 0;  ///< run first, not counted
  std::stop_token stop = {};      ///< ends the run within 100 ms (see BatchSource::cancel)
  /// Called by the pacing thread after each counted step, one event a replica. Must be quick.
  std::function<void(std::span<const StepEvent>)> on_step = {};
};

struct PacedResult {
  StepSummary summary;  ///< of the counted steps
  RunEnd end = RunEnd::end_of_data;
  std::int64_t warmup_steps = 0;  ///< that were run
  std::int64_t pacing_cpu_ns =
      0;  ///< CPU time of the pacing thread: what the measurement itself took
};

/// Blocks until the run ends. `sources`: one for each host of the slice, each giving that host's
/// part of the global batch; a source is consumed, and batches fetched ahead of the last step are
/// lost. What a source throws is thrown here, after everything has been stopped. Error
/// invalid_argument: wrong number of sources, no step time, a negative option.
PacedResult run_paced(const Slice& slice, std::vector<BatchSource> sources,
                      const PacedOptions& options);
/// For slices of one host.
PacedResult run_paced(const Slice& slice, BatchSource source, const PacedOptions& options);

}  // namespace infeed
