#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <stop_token>
#include <vector>

#include <infeed/device/cost_model.h>
#include <infeed/device/service_times.h>
#include <infeed/device/slice.h>
#include <infeed/device/step_accounting.h>

/// Why: "would this pipeline keep a slice of 2048 chips busy, and how deep must its queues be?" is
/// asked before anybody has the slice. Virtual mode replays the hosts' service times through the
/// recursion by which a slice takes its input. No clock runs, and only the seed decides what is
/// drawn.
///
///     infeed::VirtualResult result = infeed::run_virtual(
///         infeed::Slice::parse("v3-2048"),
///         infeed::ServiceTimes::drawn({20'000'000'000, 26'000'000'000}, 7),    // 20 or 26 ms
///         {.batches = {{.examples = 32768, .step = {.compute_ps = 25'000'000'000}}},
///          .steps = 1000});
///     fmt::print("{}\n", result.summary.sentence());
///
/// How: for batch i of host h, with queues of depth D, all in integer picoseconds,
/// - produce(h, i) = max(produce(h, i-1), end(i-2-D)) + service(h, i)
/// - arrive(h, i)  = max(produce(h, i), arrive(h, i-1)) + bytes of a chip / its link
/// - start(i)      = max(end(i-1) + launch, arrive(h, i) for all h) + compilation
/// - end(i)        = start(i) + compute + all-reduce
/// A batch leaves its queue when the step before its own has ended. While the queue is full the
/// host makes one more, as the threads of run_paced() and fit() do. The host's loop launches an
/// execution of steps_per_execution steps; only the first step waits for the launch. A new number
/// of examples is compiled once. With D = 0 nothing is fetched ahead: a host begins with batch i at
/// end(i-1).
///
/// Hosts are simulated, not chips: the replicas of a host get their input together, and have the
/// same account. So there is one StepEvent for each host and step; its `replica` is the host's
/// number.
///
/// Thread-safety: a pure function but for the callback. Errors: invalid_argument.
namespace infeed {

/// A global batch.
struct VirtualBatch {
  std::int64_t examples = 0;  ///< divided over the hosts as over replicas
  std::int64_t bytes = 0;     ///< the whole batch's that go to the devices; at most 10^15
  StepTime step = {};         ///< must be longer than 0
};

struct VirtualOptions {
  /// Batches in the order of the steps; after the last one the first comes again. At least one.
  std::vector<VirtualBatch> batches = {};
  std::int64_t steps = 1000;      ///< counted steps
  std::int64_t warmup_steps = 0;  ///< steps before them, not counted
  std::int32_t queue_depth = 2;   ///< batches that each host holds ready
  std::int64_t launch_ps = 0;     ///< the host's launch of each execution
  std::int32_t steps_per_execution = 1;
  std::int64_t compilation_ps = 0;  ///< for each new number of examples
  std::stop_token stop = {};        ///< looked at before each step
  /// Called after each counted step, one event a host.
  std::function<void(std::span<const StepEvent>)> on_step = {};
};

/// The effect of waiting for the slowest host. `step_` values are the slowest host's in each step.
struct ServiceTail {
  std::int64_t host_p50_ps = 0;  ///< for a batch of any host
  std::int64_t host_p99_ps = 0;
  std::int64_t step_p50_ps = 0;  ///< the median over the steps of the slowest host's time
  /// The share of all hosts' batches that took less than step_p50_ps: 0.5 for one host, about
  /// 0.5^(1/hosts) for many that are independent of each other (0.9986 for 512).
  double step_p50_quantile = 0;
};

struct VirtualResult {
  StepSummary summary;            ///< counted steps
  std::int64_t compilations = 0;  ///< this, executions and steps include the warm-up
  std::int64_t executions = 0;
  std::int64_t steps = 0;  ///< fewer than asked for if the run was stopped
  ServiceTail tail;
};

VirtualResult run_virtual(const Slice& slice, const ServiceTimes& service,
                          const VirtualOptions& options);

/// The counted steps as a whole; run_virtual() has the same in its summary.
struct VirtualSpan {
  std::int64_t steps = 0;
  std::int64_t span_ps = 0;
  double duty_cycle = 0;  ///< 0..1
};

/// Returns only how long the run takes, in a tenth of the time, for programs that try many queues.
/// It keeps no account of the hosts, and never calls `on_step`.
VirtualSpan virtual_span(const Slice& slice, const ServiceTimes& service,
                         const VirtualOptions& options);

}  // namespace infeed
