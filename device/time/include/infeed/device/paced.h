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
/// time later. The caller's thread sleeps until that instant (clock_nanosleep, TIMER_ABSTIME, timer
/// slack 1 ns). Starts are computed, not measured after the sleep, so late wake-ups don't add up. A
/// batch arrives when the source has handed it over and it has been transferred to the device.
///
/// The pacing thread may be late, by microseconds or, on an overloaded machine, by much more:
/// PacedResult::lateness holds by how much. A late thread empties a full queue too late, and the
/// source stands still. The waiting that this causes is idle time, never infeed wait.
///
/// One machine can't measure all hosts of a larger slice. The share of one host is paced, with its
/// part of the global batch and the whole slice's step, and the result says so (virtual_run.h shows
/// the effect of the slowest of many hosts).
namespace infeed {

struct PacedOptions {
  StepTime step = {};  ///< must be longer than 0, and no longer than a day
  InfeedFeed feed = InfeedFeed::ahead;
  std::int32_t queue_depth = 2;  ///< steps that each replica's queue holds
  std::int64_t steps_max = 0;    ///< counted steps; 0: no limit
  std::chrono::nanoseconds duration{
      0};  ///< limit of the counted steps, checked after each; 0: none; 100 days at most
  std::int64_t warmup_steps = 0;  ///< run first, not counted
  std::stop_token stop = {};      ///< ends the run within 100 ms (see BatchSource::cancel)
  /// Called by the pacing thread after each counted step, one event a replica. Must be quick.
  std::function<void(std::span<const StepEvent>)> on_step = {};
  /// Called before on_step, with the time that the source took for the step's batch: run_virtual()
  /// replays such times.
  std::function<void(std::int64_t service_ns)> on_service = {};
};

/// The time from a step's end until the pacing thread noticed it. It slept until then, or was still
/// behind from an earlier step.
struct WakeLateness {
  std::int64_t wakes = 0;
  std::int64_t p50_ns = 0;  ///< quantiles to within 3 %
  std::int64_t p99_ns = 0;
  std::int64_t max_ns = 0;
};

struct PacedResult {
  std::int32_t hosts = 1;     ///< hosts of the slice, of which one is paced
  std::int32_t replicas = 0;  ///< replicas of the paced host
  /// Tells which part is paced: "v3-32 has 4 hosts; the share of one of them is paced: 8 of 32
  /// replicas". Empty for slices of one host.
  std::string share = {};
  StepSummary summary;    ///< counted steps of the paced host
  WakeLateness lateness;  ///< in the counted steps
  /// Time from the first counted step until the thread noticed the end of the last one:
  /// summary.span_ps plus the lateness of the last wake-up.
  std::int64_t wall_ns = 0;
  RunEnd end = RunEnd::end_of_data;
  std::int64_t warmup_steps = 0;   ///< warm-up steps that ran
  std::int64_t pacing_cpu_ns = 0;  ///< CPU time of the pacing thread: the cost of measuring
};

/// Blocks until the run ends. `source` gives one host's part of the global batch; it is consumed,
/// and batches fetched ahead of the last step are lost. Its exceptions are thrown here, after
/// everything has been stopped. Error invalid_argument: no step time, an option out of range.
PacedResult run_paced(const Slice& slice, BatchSource source, const PacedOptions& options);

}  // namespace infeed
