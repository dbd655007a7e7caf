#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <span>
#include <stop_token>
#include <string>

#include <infeed/device/cost_model.h>
#include <infeed/device/device_batch.h>
#include <infeed/device/infeed_queue.h>
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
///
/// The thread that paces may be late, though, by microseconds or, on a machine that is overloaded,
/// by much more: PacedResult::lateness says by how much. Then a full queue isn't emptied in time and
/// the source stands still. Waiting that comes of this is idle time, never infeed wait.
///
/// A slice of several hosts: all of them cannot be measured on one machine. The share of one host is
/// paced, with its part of the global batch and the whole slice's step, and the result says so
/// (what the slowest of many hosts does to a slice: virtual_run.h).
namespace infeed {

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
  /// Called before it, with the time that the source took for the step's batch: run_virtual()
  /// replays such times.
  std::function<void(std::int64_t service_ns)> on_service = {};
};

/// How long after a step's end the pacing thread noticed it. It slept until then, or was still
/// behind from a step before.
struct WakeLateness {
  std::int64_t wakes = 0;
  std::int64_t p50_ns = 0;  ///< quantiles to within 3 %
  std::int64_t p99_ns = 0;
  std::int64_t max_ns = 0;
};

struct PacedResult {
  std::int32_t hosts = 1;     ///< of the slice, of which one is paced
  std::int32_t replicas = 0;  ///< of that one
  /// What was left out: "v3-32 has 4 hosts; the share of one of them is paced: 8 of 32 replicas".
  /// Empty for slices of one host.
  std::string share = {};
  StepSummary summary;    ///< of the counted steps, and of that host
  WakeLateness lateness;  ///< of the counted steps
  /// From the first counted step to the moment at which the end of the last one was noticed: what
  /// summary.span_ps is to be, but for the last wake-up's lateness.
  std::int64_t wall_ns = 0;
  RunEnd end = RunEnd::end_of_data;
  std::int64_t warmup_steps = 0;  ///< that were run
  std::int64_t pacing_cpu_ns =
      0;  ///< CPU time of the pacing thread: what the measurement itself took
};

/// Blocks until the run ends. `source` gives one host's part of the global batch; it is consumed,
/// and batches fetched ahead of the last step are lost. What it throws is thrown here, after
/// everything has been stopped. Error invalid_argument: no step time, a negative option.
PacedResult run_paced(const Slice& slice, BatchSource source, const PacedOptions& options);

}  // namespace infeed
