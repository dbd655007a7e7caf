#include "infeed/device/paced.h"

#include <algorithm>
#include <fmt/format.h>
#include <optional>
#include <sys/prctl.h>
#include <time.h>
#include <utility>

#include <infeed/error.h>

#include "refuse.h"
#include "time/clock_units.h"
#include "time/host_feeder.h"
#include "time/lateness_counts.h"
#include "time/slice_clock.h"

namespace infeed {
namespace {

using detail::kPsPerNs;
constexpr std::int64_t kNsPerSecond = 1'000'000'000;
/// The longest time, also inside a long step, until a stop is noticed.
constexpr std::int64_t kStopCheckNs = 50'000'000;
/// The picoseconds of the longest run, with a step more, fit into 64 bits.
constexpr std::int64_t kStepPsMax = 24 * 3600 * std::int64_t{1'000'000'000'000};
constexpr std::chrono::hours kDurationMax{24 * 100};

std::int64_t cpu_of_thread_ns() {
  timespec spent{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &spent);
  return spent.tv_sec * kNsPerSecond + spent.tv_nsec;
}

/// Sleeps until the absolute instant; returns false if stopped before.
bool sleep_until_ns(std::int64_t deadline_ns, const std::stop_token& stop) {
  for (;;) {
    if (stop.stop_requested()) return false;
    const std::int64_t now_ns = detail::monotonic_ns();
    if (now_ns >= deadline_ns) return true;
    const std::int64_t until_ns = std::min(deadline_ns, now_ns + kStopCheckNs);
    const timespec until{.tv_sec = until_ns / kNsPerSecond, .tv_nsec = until_ns % kNsPerSecond};
    clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, nullptr);
  }
}

/// The default timer slack would let the kernel wake the thread 50 us late.
class FineTimer {
 public:
  FineTimer() : before_(prctl(PR_GET_TIMERSLACK)) { prctl(PR_SET_TIMERSLACK, 1UL); }
  ~FineTimer() { prctl(PR_SET_TIMERSLACK, static_cast<unsigned long>(std::max(before_, 1))); }
  FineTimer(const FineTimer&) = delete;
  FineTimer& operator=(const FineTimer&) = delete;

 private:
  int before_;
};

using Host = detail::HostFeeder<DeviceBatch>;

/// Divides each batch of the source.
Host::Source shares_of(BatchSource source, std::int32_t replicas) {
  return {.next =
              [next = std::move(source.next), replicas](std::vector<DeviceBatch>& step) {
                DeviceBatch batch;
                if (!next(batch)) return false;
                step = split_over_replicas(batch, replicas);
                return true;
              },
          .cancel = std::move(source.cancel)};
}

void check(const PacedOptions& options) {
  const auto is_in_range = [](std::int64_t ps) { return ps >= 0 && ps <= kStepPsMax; };
  if (!is_in_range(options.step.compute_ps) || !is_in_range(options.step.all_reduce_ps) ||
      options.step.total_ps() == 0 || options.step.total_ps() > kStepPsMax) {
    detail::refuse(
        "a step of {} ps compute and {} ps all-reduce cannot be paced; take it from step_time(): "
        "above 0, and a day at most",
        options.step.compute_ps, options.step.all_reduce_ps);
  }
  if (options.steps_max < 0 || options.duration.count() < 0 || options.warmup_steps < 0) {
    detail::refuse("steps_max {}, duration {} ns and warmup_steps {} must not be negative",
                   options.steps_max, options.duration.count(), options.warmup_steps);
  }
  if (options.duration > kDurationMax) {
    detail::refuse("a duration of {} ns is longer than 100 days", options.duration.count());
  }
}

/// Returns why the run ends after the counted step that ends at `end_ps`; nothing if it goes on.
std::optional<RunEnd> reached_limit(const PacedOptions& options, std::int64_t counted,
                                    std::int64_t counted_ps) {
  if (options.steps_max > 0 && counted >= options.steps_max) return RunEnd::steps_max;
  if (options.duration.count() > 0 && counted_ps >= options.duration.count() * kPsPerNs) {
    return RunEnd::duration;
  }
  return std::nullopt;
}

/// The device side of a paced run.
class PacedDevice {
 public:
  PacedDevice(const Slice& slice, const PacedOptions& options)
      : chip_(slice.chip()),
        replicas_per_chip_(static_cast<std::size_t>(slice.replicas_per_chip())),
        options_(options),
        accounting_(slice.replicas_of_host(0)),
        clock_(static_cast<std::size_t>(slice.replicas_of_host(0)),
               options.feed == InfeedFeed::ahead ? options.queue_depth : 0) {}

  RunEnd run_steps(Host& host) {
    std::int64_t counted_from_ps = 0;
    for (std::int64_t number = 0;; ++number) {
      if (!host.next_step(arrivals_)) return RunEnd::end_of_data;
      const detail::BatchInstants batch = take();
      const std::span<const StepEvent> events = clock_.step(parts_, {.time = options_.step}, batch);
      if (!sleep_until_ns(end_ns(), options_.stop)) return RunEnd::cancelled;
      woken_ns_ = detail::monotonic_ns();
      if (number < options_.warmup_steps) {
        warmup_steps_ = number + 1;
        counted_from_ps = clock_.end_ps();
        counted_from_ns_ = end_ns();
        continue;
      }
      lateness_.add(woken_ns_ - end_ns());
      accounting_.add(events);
      if (options_.on_service) {
        options_.on_service((batch.ready_ps - batch.asked_ps) / kPsPerNs);
      }
      if (options_.on_step) options_.on_step(events);
      const auto limit = reached_limit(options_, number + 1 - options_.warmup_steps,
                                       clock_.end_ps() - counted_from_ps);
      if (limit) return *limit;
    }
  }

  void write_to(PacedResult& result) const {
    result.summary = accounting_.summary();
    result.warmup_steps = warmup_steps_;
    result.lateness = lateness_.result();
    if (result.summary.steps > 0) result.wall_ns = woken_ns_ - counted_from_ns_;
  }

 private:
  std::int64_t since_origin_ps(std::int64_t ns) const { return (ns - origin_ns_) * kPsPerNs; }
  /// Returns the end of the step by this machine's clock, rounded up.
  std::int64_t end_ns() const { return origin_ns_ + (clock_.end_ps() + kPsPerNs - 1) / kPsPerNs; }

  /// Notes the step's instants and sizes, and frees its batches: from here on they would be on the
  /// device.
  detail::BatchInstants take() {
    const detail::BatchInstants batch{.asked_ps = since_origin_ps(arrivals_[0].asked_ns),
                                      .ready_ps = since_origin_ps(arrivals_[0].ready_ns),
                                      .taken_ps = since_origin_ps(detail::monotonic_ns())};
    parts_.clear();
    for (std::size_t first = 0; first < arrivals_.size(); first += replicas_per_chip_) {
      const std::span<const Host::Arrival> of_chip{&arrivals_[first], replicas_per_chip_};
      std::int64_t bytes = 0;
      for (const Host::Arrival& arrival : of_chip) bytes += arrival.item.bytes;
      for (const Host::Arrival& arrival : of_chip) {
        parts_.push_back(
            {.examples = arrival.item.examples, .transfer_ps = transfer_ps(chip_, bytes)});
      }
    }
    arrivals_.clear();
    return batch;
  }

  const ChipSpec& chip_;
  const std::size_t replicas_per_chip_;
  const PacedOptions& options_;
  const std::int64_t origin_ns_ = detail::monotonic_ns();
  StepAccounting accounting_;
  detail::SliceClock clock_;
  LatenessCounts lateness_;
  std::vector<Host::Arrival> arrivals_;
  std::vector<detail::StepPart> parts_;  ///< one part a replica
  std::int64_t warmup_steps_ = 0;
  std::int64_t counted_from_ns_ = origin_ns_;
  std::int64_t woken_ns_ = 0;
};

}  // namespace

PacedResult run_paced(const Slice& slice, BatchSource source, const PacedOptions& options) {
  check(options);
  const FineTimer fine_timer;
  const std::int64_t cpu_before_ns = cpu_of_thread_ns();
  PacedResult result;
  result.hosts = slice.num_hosts();
  result.replicas = slice.replicas_of_host(0);
  {
    const std::int32_t replicas = slice.replicas_of_host(0);
    Host host({.replicas = replicas, .feed = options.feed, .depth = options.queue_depth},
              shares_of(std::move(source), replicas));
    const std::stop_callback on_stop(options.stop, [&host] { host.stop(); });
    PacedDevice device(slice, options);
    try {
      result.end = device.run_steps(host);
    } catch (const Error& error) {
      if (error.code() != ErrorCode::cancelled || !options.stop.stop_requested()) throw;
      result.end = RunEnd::cancelled;
    }
    device.write_to(result);
  }
  result.pacing_cpu_ns = cpu_of_thread_ns() - cpu_before_ns;
  if (result.hosts > 1) {
    result.share =
        fmt::format("{} has {} hosts; the share of one of them is paced: {} of {} replicas",
                    slice.name(), slice.num_hosts(), result.replicas, slice.num_replicas());
  }
  return result;
}

}  // namespace infeed
