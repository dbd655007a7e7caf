#include "infeed/device/paced.h"

#include <algorithm>
#include <fmt/format.h>
#include <iterator>
#include <memory>
#include <mutex>
#include <optional>
#include <sys/prctl.h>
#include <thread>
#include <time.h>
#include <utility>

#include <infeed/device/infeed_queue.h>
#include <infeed/error.h>

namespace infeed {
namespace {

constexpr std::int64_t kPsPerNs = 1000;
constexpr std::int64_t kNsPerSecond = 1'000'000'000;
/// A stop is noticed at least this often, also inside a long step.
constexpr std::int64_t kStopCheckNs = 50'000'000;

std::int64_t clock_ns(clockid_t clock) {
  timespec now{};
  clock_gettime(clock, &now);
  return now.tv_sec * kNsPerSecond + now.tv_nsec;
}

/// Sleeps until the absolute instant; false when stopped before.
bool sleep_until_ns(std::int64_t deadline_ns, const std::stop_token& stop) {
  for (;;) {
    if (stop.stop_requested()) return false;
    const std::int64_t now_ns = clock_ns(CLOCK_MONOTONIC);
    if (now_ns >= deadline_ns) return true;
    const std::int64_t until_ns = std::min(deadline_ns, now_ns + kStopCheckNs);
    const timespec until{.tv_sec = until_ns / kNsPerSecond, .tv_nsec = until_ns % kNsPerSecond};
    clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, nullptr);
  }
}

/// The default slack lets the kernel wake us 50 us late.
class FineTimer {
 public:
  FineTimer() : before_(prctl(PR_GET_TIMERSLACK)) { prctl(PR_SET_TIMERSLACK, 1UL); }
  ~FineTimer() { prctl(PR_SET_TIMERSLACK, static_cast<unsigned long>(std::max(before_, 1))); }
  FineTimer(const FineTimer&) = delete;
  FineTimer& operator=(const FineTimer&) = delete;

 private:
  int before_;
};

struct Arrival {
  ReplicaBatch batch;
  std::int64_t asked_ns = 0;  ///< when fetching began, if the device had to ask for it
  std::int64_t ready_ns = 0;  ///< when the host had it
};

/// The host side: sources, queues and, when feeding ahead, a thread for each host. Its destructor
/// ends whatever is still running.
class Hosts {
 public:
  Hosts(const Slice& slice, std::vector<BatchSource> sources, const PacedOptions& options)
      : sources_(std::move(sources)), feed_(options.feed) {
    for (std::int32_t host = 0; host < slice.num_hosts(); ++host) {
      queues_.push_back(std::make_unique<InfeedQueues<Arrival>>(
          InfeedQueueOptions{.replicas = slice.replicas_of_host(host),
                             .depth = feed_ == InfeedFeed::ahead ? options.queue_depth : 1}));
    }
    if (feed_ == InfeedFeed::on_demand) return;
    try {
      for (std::size_t host = 0; host < queues_.size(); ++host) {
        feeders_.emplace_back([this, host] {
          while (fetch(host)) {
          }
        });
      }
    } catch (...) {  // no more threads: those that run must not wait for a device
      stop();
      throw;
    }
  }

  ~Hosts() {
    stop();
    feeders_.clear();  // joins
  }
  Hosts(const Hosts&) = delete;
  Hosts& operator=(const Hosts&) = delete;

  /// One arrival a replica, over all hosts. False at the end of the data.
  bool next_step(std::vector<Arrival>& step) {
    step.clear();
    for (std::size_t host = 0; host < queues_.size(); ++host) {
      if (feed_ == InfeedFeed::on_demand) fetch(host);
      if (!queues_[host]->pop_step(of_host_)) return false;
      std::move(of_host_.begin(), of_host_.end(), std::back_inserter(step));
    }
    return true;
  }

  /// From any thread: everybody wakes up.
  void stop() {
    std::call_once(stopped_, [this] {
      for (const auto& queue : queues_) {
        queue->abort(std::make_exception_ptr(Error(ErrorCode::cancelled, "the run was stopped")));
      }
      for (const BatchSource& source : sources_) {
        if (source.cancel) source.cancel();
      }
    });
  }

 private:
  /// Moves one batch from the source to the host's queues. What goes wrong reaches the device
  /// through them; after stop() it is of no interest any more, and the queues keep the first error.
  bool fetch(std::size_t host) {
    InfeedQueues<Arrival>& queues = *queues_[host];
    try {
      const std::int64_t asked_ns = feed_ == InfeedFeed::on_demand ? clock_ns(CLOCK_MONOTONIC) : 0;
      GlobalBatch batch;
      if (!sources_[host].next(batch)) {
        queues.close();
        return false;
      }
      const std::int64_t ready_ns = clock_ns(CLOCK_MONOTONIC);
      std::vector<Arrival> step;
      for (ReplicaBatch& share : split_over_replicas(batch, queues.replicas())) {
        step.push_back({.batch = std::move(share), .asked_ns = asked_ns, .ready_ns = ready_ns});
      }
      batch = {};
      return queues.push_step(std::move(step));
    } catch (...) {
      queues.abort(std::current_exception());
      return false;
    }
  }

  std::vector<BatchSource> sources_;
  const InfeedFeed feed_;
  std::vector<std::unique_ptr<InfeedQueues<Arrival>>> queues_;
  std::vector<Arrival> of_host_;
  std::once_flag stopped_;
  std::vector<std::jthread> feeders_;
};

/// The device side: turns arrivals into the events of a step. Times since the start of the run.
class DeviceClock {
 public:
  DeviceClock(const Slice& slice, StepTime step, std::int64_t origin_ns)
      : slice_(slice), step_time_(step), origin_ns_(origin_ns) {
    link_free_ps_.resize(static_cast<std::size_t>(slice.num_chips()));
    events_.resize(static_cast<std::size_t>(slice.num_replicas()));
  }

  std::span<const StepEvent> run(std::int64_t number, const std::vector<Arrival>& arrivals) {
    const std::size_t per_chip = static_cast<std::size_t>(slice_.replicas_per_chip());
    std::int64_t start_ps = end_ps_;
    for (std::size_t chip = 0; chip < link_free_ps_.size(); ++chip) {
      const std::span<const Arrival> shares =
          std::span(arrivals).subspan(chip * per_chip, per_chip);
      std::int64_t bytes = 0;
      for (const Arrival& arrival : shares) bytes += arrival.batch.bytes;
      const std::int64_t ready_ps = since_origin_ps(shares[0].ready_ns);
      link_free_ps_[chip] =
          std::max(ready_ps, link_free_ps_[chip]) + transfer_ps(slice_.chip(), bytes);
      start_ps = std::max(start_ps, link_free_ps_[chip]);
    }
    for (std::size_t r = 0; r < arrivals.size(); ++r) {
      events_[r] = event(number, arrivals[r], link_free_ps_[r / per_chip], start_ps);
      events_[r].replica = static_cast<std::int32_t>(r);
    }
    end_ps_ = start_ps + step_time_.total_ps();
    return events_;
  }

  std::int64_t end_ps() const { return end_ps_; }
  std::int64_t end_ns() const { return origin_ns_ + (end_ps_ + kPsPerNs - 1) / kPsPerNs; }

 private:
  std::int64_t since_origin_ps(std::int64_t ns) const { return (ns - origin_ns_) * kPsPerNs; }

  StepEvent event(std::int64_t number, const Arrival& arrival, std::int64_t transferred_ps,
                  std::int64_t start_ps) const {
    // A device that had to ask was idle until its host woke up and asked.
    const std::int64_t waits_from_ps = std::max(end_ps_, since_origin_ps(arrival.asked_ns));
    const std::int64_t ready_ps = std::max(waits_from_ps, since_origin_ps(arrival.ready_ns));
    StepEvent event{.step = number, .examples = arrival.batch.examples, .begin_ps = end_ps_};
    event.infeed_wait_ps = ready_ps - waits_from_ps;
    event.transfer_ps = std::max<std::int64_t>(0, transferred_ps - ready_ps);
    event.idle_ps = start_ps - end_ps_ - event.infeed_wait_ps - event.transfer_ps;
    event.compute_ps = step_time_.compute_ps;
    event.all_reduce_ps = step_time_.all_reduce_ps;
    return event;
  }

  const Slice& slice_;
  const StepTime step_time_;
  const std::int64_t origin_ns_;
  std::int64_t end_ps_ = 0;
  std::vector<std::int64_t> link_free_ps_;
  std::vector<StepEvent> events_;
};

void check(const Slice& slice, const std::vector<BatchSource>& sources,
           const PacedOptions& options) {
  const auto refuse = [](std::string message) {
    throw Error(ErrorCode::invalid_argument, std::move(message));
  };
  if (static_cast<std::int32_t>(sources.size()) != slice.num_hosts()) {
    refuse(fmt::format("slice {} has {} hosts, but {} sources were given; give one a host",
                       slice.name(), slice.num_hosts(), sources.size()));
  }
  if (options.feed == InfeedFeed::on_demand && slice.num_hosts() > 1) {
    refuse(fmt::format("slice {} has {} hosts; feeding on demand is for one host, feed ahead",
                       slice.name(), slice.num_hosts()));
  }
  if (options.step.compute_ps < 0 || options.step.all_reduce_ps < 0 ||
      options.step.total_ps() == 0) {
    refuse(
        fmt::format("a step of {} ps compute and {} ps all-reduce cannot be paced; take it from "
                    "step_time()",
                    options.step.compute_ps, options.step.all_reduce_ps));
  }
  if (options.steps_max < 0 || options.duration.count() < 0 || options.warmup_steps < 0) {
    refuse(fmt::format("steps_max {}, duration {} ns and warmup_steps {} must not be negative",
                       options.steps_max, options.duration.count(), options.warmup_steps));
  }
}

/// After the counted step that ends at `end_ps`: why to stop, if at all.
std::optional<RunEnd> reached_limit(const PacedOptions& options, std::int64_t counted,
                                    std::int64_t counted_ps) {
  if (options.steps_max > 0 && counted >= options.steps_max) return RunEnd::steps_max;
  if (options.duration.count() > 0 && counted_ps >= options.duration.count() * kPsPerNs) {
    return RunEnd::duration;
  }
  return std::nullopt;
}

RunEnd run_steps(const Slice& slice, Hosts& hosts, const PacedOptions& options,
                 StepAccounting& accounting, std::int64_t& warmup_steps) {
  DeviceClock device(slice, options.step, clock_ns(CLOCK_MONOTONIC));
  std::vector<Arrival> arrivals;
  std::int64_t counted_from_ps = 0;
  for (std::int64_t number = 0;; ++number) {
    if (!hosts.next_step(arrivals)) return RunEnd::end_of_data;
    const std::span<const StepEvent> events = device.run(number, arrivals);
    arrivals.clear();  // frees the batches: from here on they would be on the device
    if (!sleep_until_ns(device.end_ns(), options.stop)) return RunEnd::cancelled;
    if (number < options.warmup_steps) {
      warmup_steps = number + 1;
      counted_from_ps = device.end_ps();
      continue;
    }
    accounting.add(events);
    if (options.on_step) options.on_step(events);
    const auto limit = reached_limit(options, number + 1 - options.warmup_steps,
                                     device.end_ps() - counted_from_ps);
    if (limit) return *limit;
  }
}

}  // namespace

PacedResult run_paced(const Slice& slice, std::vector<BatchSource> sources,
                      const PacedOptions& options) {
  check(slice, sources, options);
  const FineTimer fine_timer;
  const std::int64_t cpu_before_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID);
  StepAccounting accounting(slice.num_replicas());
  PacedResult result;
  {
    Hosts hosts(slice, std::move(sources), options);
    const std::stop_callback on_stop(options.stop, [&hosts] { hosts.stop(); });
    try {
      result.end = run_steps(slice, hosts, options, accounting, result.warmup_steps);
    } catch (const Error& error) {
      if (error.code() != ErrorCode::cancelled || !options.stop.stop_requested()) throw;
      result.end = RunEnd::cancelled;
    }
  }
  result.pacing_cpu_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID) - cpu_before_ns;
  result.summary = accounting.summary();
  return result;
}

PacedResult run_paced(const Slice& slice, BatchSource source, const PacedOptions& options) {
  std::vector<BatchSource> sources;
  sources.push_back(std::move(source));
  return run_paced(slice, std::move(sources), options);
}

}  // namespace infeed
