#include "infeed/device/virtual_run.h"

#include <algorithm>
#include <set>
#include <utility>

#include <infeed/device/device_batch.h>

#include "refuse.h"
#include "time/slice_clock.h"

namespace infeed {
namespace {

/// Longest simulated time of a run: more doesn't fit into 64 bits.
constexpr std::int64_t kLongestRunPs = std::int64_t{1} << 62;
/// Longest single duration, so that a few of them can be added.
constexpr std::int64_t kLongestPartPs = 1'000'000'000'000'000'000;
/// Largest batch: its transfer takes 19 hours.
constexpr std::int64_t kBatchBytesMax = 1'000'000'000'000'000;
constexpr std::int64_t kVirtualStepsMax = 1'000'000'000'000;
/// Number of service times kept for the quantiles.
constexpr std::int64_t kKeptMax = std::int64_t{1} << 20;

void check_run(const Slice& slice, const ServiceTimes& service, const VirtualOptions& options) {
  if (options.batches.empty()) detail::refuse("a virtual run of no batch; give at least one");
  for (const VirtualBatch& batch : options.batches) {
    if (batch.examples < 0 || batch.bytes < 0 || batch.bytes > kBatchBytesMax ||
        batch.step.compute_ps < 0 || batch.step.all_reduce_ps < 0 ||
        batch.step.compute_ps > kLongestPartPs || batch.step.all_reduce_ps > kLongestPartPs ||
        batch.step.total_ps() == 0) {
      detail::refuse(
          "a batch of {} examples, {} bytes, {} ps compute and {} ps all-reduce; expected a step "
          "of 1 to {} ps, at most {} bytes, and nothing negative",
          batch.examples, batch.bytes, batch.step.compute_ps, batch.step.all_reduce_ps,
          kLongestPartPs, kBatchBytesMax);
    }
  }
  if (options.steps < 1 || options.warmup_steps < 0 || options.queue_depth < 0 ||
      options.steps_per_execution < 1 ||
      std::max(options.steps, options.warmup_steps) > kVirtualStepsMax) {
    detail::refuse(
        "steps {}, warmup_steps {}, queue_depth {}, steps_per_execution {}; expected at least 1, "
        "0, 0 and 1, and at most {} steps",
        options.steps, options.warmup_steps, options.queue_depth, options.steps_per_execution,
        kVirtualStepsMax);
  }
  if (std::min(options.launch_ps, options.compilation_ps) < 0 ||
      std::max(options.launch_ps, options.compilation_ps) > kLongestPartPs) {
    detail::refuse("launch_ps {} and compilation_ps {}; expected 0 to {}", options.launch_ps,
                   options.compilation_ps, kLongestPartPs);
  }
  if (service.num_hosts() > 0 && service.num_hosts() != slice.num_hosts()) {
    detail::refuse("slice {} has {} hosts, but service times of {} were given; give each host's",
                   slice.name(), slice.num_hosts(), service.num_hosts());
  }
}

/// Returns the value at `share` of the sorted ones; changes their order.
std::int64_t quantile(std::vector<std::int64_t>& values, double share) {
  if (values.empty()) return 0;
  const auto last = static_cast<double>(values.size() - 1);
  const auto at = values.begin() + static_cast<std::ptrdiff_t>(share * last + 0.5);
  std::nth_element(values.begin(), at, values.end());
  return *at;
}

/// Keeps service times for the quantiles: those of all hosts, but only of some steps.
class TailOf {
 public:
  TailOf(std::int64_t hosts, std::int64_t steps)
      : every_((std::max<std::int64_t>(1, hosts) * steps + kKeptMax - 1) / kKeptMax) {}

  void take(std::int64_t step, std::span<const detail::StepPart> hosts) {
    if (step % every_ != 0) return;
    std::int64_t slowest_ps = 0;
    for (const detail::StepPart& host : hosts) {
      slowest_ps = std::max(slowest_ps, host.service_ps);
      all_.push_back(host.service_ps);
    }
    slowest_.push_back(slowest_ps);
  }

  ServiceTail result() && {
    ServiceTail tail{.host_p50_ps = quantile(all_, 0.5), .host_p99_ps = quantile(all_, 0.99)};
    tail.step_p50_ps = quantile(slowest_, 0.5);
    if (all_.empty()) return tail;
    // Half of the equal times count as below, or constant ones would have none below them.
    const std::int64_t middle_ps = tail.step_p50_ps;
    const auto below = static_cast<double>(
        std::ranges::count_if(all_, [=](std::int64_t ps) { return ps < middle_ps; }));
    const auto equal = static_cast<double>(std::ranges::count(all_, middle_ps));
    tail.step_p50_quantile = (below + equal / 2) / static_cast<double>(all_.size());
    return tail;
  }

 private:
  const std::int64_t every_;
  std::vector<std::int64_t> slowest_;
  std::vector<std::int64_t> all_;
};

/// The slice's clock, fed with the hosts' times for each step.
class SimulatedSlice {
 public:
  SimulatedSlice(const Slice& slice, const ServiceTimes& service, const VirtualOptions& options)
      : slice_(slice),
        options_(options),
        clock_(static_cast<std::size_t>(slice.num_hosts()), options.queue_depth) {
    for (const VirtualBatch& batch : options.batches) parts_.push_back(parts_of(batch));
    for (std::int32_t h = 0; h < slice.num_hosts(); ++h) readers_.emplace_back(service, h);
  }

  std::span<const StepEvent> step(TailOf& tail) {
    const Next next = prepare();
    tail.take(number_, next.parts);
    const std::span<const StepEvent> events = clock_.step(next.parts, next.step);
    end_step();
    return events;
  }

  /// Takes the same step without an account.
  void pass(TailOf* tail = nullptr) {
    const Next next = prepare();
    if (tail != nullptr) tail->take(number_, next.parts);
    clock_.pass(next.parts, next.step);
    end_step();
  }

  std::int64_t steps() const { return number_; }
  std::int64_t end_ps() const { return clock_.end_ps(); }
  /// Returns the time in which the devices computed.
  std::int64_t busy_ps() const { return busy_ps_; }
  std::int64_t compilations() const { return static_cast<std::int64_t>(compiled_.size()); }
  std::int64_t executions() const {
    return (number_ + options_.steps_per_execution - 1) / options_.steps_per_execution;
  }

 private:
  using HostParts = std::vector<detail::StepPart>;
  struct Next {
    const HostParts& parts;
    detail::SliceClock::Step step;
  };

  Next prepare() {
    const std::size_t which = static_cast<std::size_t>(number_) % options_.batches.size();
    const VirtualBatch& batch = options_.batches[which];
    for (std::size_t h = 0; h < readers_.size(); ++h) {
      parts_[which][h].service_ps = readers_[h].next();
    }
    const bool begins_execution = number_ % options_.steps_per_execution == 0;
    busy_ps_ += batch.step.total_ps();
    const bool is_new = compiled_.insert(batch.examples).second;
    return {.parts = parts_[which],
            .step = {.time = batch.step,
                     .launch_ps = begins_execution ? options_.launch_ps : 0,
                     .compilation_ps = is_new ? options_.compilation_ps : 0}};
  }

  HostParts parts_of(const VirtualBatch& batch) const {
    const std::int32_t hosts = slice_.num_hosts();
    HostParts parts;
    for (std::int32_t h = 0; h < hosts; ++h) {
      const std::int64_t examples = examples_of_replica(batch.examples, hosts, h);
      const std::int64_t chips =
          std::max(1, slice_.replicas_of_host(h) / slice_.replicas_per_chip());
      const double part = batch.examples == 0
                              ? 1.0 / hosts
                              : static_cast<double>(examples) / static_cast<double>(batch.examples);
      const auto bytes = static_cast<std::int64_t>(static_cast<double>(batch.bytes) * part + 0.5);
      parts.push_back({.examples = examples,
                       .transfer_ps = transfer_ps(slice_.chip(), (bytes + chips - 1) / chips)});
    }
    return parts;
  }

  void end_step() {
    ++number_;
    // No part is longer than 10^18 ps, so nothing has overflowed before this check.
    if (clock_.end_ps() < kLongestRunPs) return;
    detail::refuse(
        "after {} steps more than 53 days have passed, which is all that a virtual run can hold; "
        "ask for fewer steps or shorter ones",
        number_);
  }

  const Slice& slice_;
  const VirtualOptions& options_;
  detail::SliceClock clock_;
  std::vector<HostParts> parts_;  ///< in the order of the batches
  std::vector<ServiceTimes::Reader> readers_;
  std::set<std::int64_t> compiled_;
  std::int64_t number_ = 0;  ///< steps taken
  std::int64_t busy_ps_ = 0;
};

}  // namespace

VirtualResult run_virtual(const Slice& slice, const ServiceTimes& service,
                          const VirtualOptions& options) {
  check_run(slice, service, options);
  const std::int64_t steps = options.warmup_steps + options.steps;
  SimulatedSlice simulated(slice, service, options);
  StepAccounting accounting(slice.num_hosts());
  TailOf tail(slice.num_hosts(), steps);
  while (simulated.steps() < steps && !options.stop.stop_requested()) {
    if (simulated.steps() < options.warmup_steps) {
      simulated.pass(&tail);
      continue;
    }
    const std::span<const StepEvent> events = simulated.step(tail);
    accounting.add(events);
    if (options.on_step) options.on_step(events);
  }
  return {.summary = accounting.summary(),
          .compilations = simulated.compilations(),
          .executions = simulated.executions(),
          .steps = simulated.steps(),
          .tail = std::move(tail).result()};
}

VirtualSpan virtual_span(const Slice& slice, const ServiceTimes& service,
                         const VirtualOptions& options) {
  check_run(slice, service, options);
  SimulatedSlice simulated(slice, service, options);
  const auto pass_until = [&](std::int64_t steps) {
    while (simulated.steps() < steps && !options.stop.stop_requested()) simulated.pass();
  };
  pass_until(options.warmup_steps);
  const std::int64_t begin_ps = simulated.end_ps();
  const std::int64_t busy_before_ps = simulated.busy_ps();
  pass_until(options.warmup_steps + options.steps);
  VirtualSpan span{.steps = std::max<std::int64_t>(0, simulated.steps() - options.warmup_steps),
                   .span_ps = simulated.end_ps() - begin_ps};
  if (span.span_ps > 0) {
    span.duty_cycle = static_cast<double>(simulated.busy_ps() - busy_before_ps) /
                      static_cast<double>(span.span_ps);
  }
  return span;
}

}  // namespace infeed
