#include "time/slice_clock.h"

#include <algorithm>

namespace infeed::detail {

SliceClock::SliceClock(std::size_t hosts, std::int32_t queue_depth)
    : queue_depth_(static_cast<std::size_t>(queue_depth)), hosts_(hosts), events_(hosts) {}

std::span<const StepEvent> SliceClock::step(std::span<const HostPart> parts, const Step& step) {
  const std::int64_t room_ps = room_from_ps();
  std::int64_t start_ps = end_ps_ + step.launch_ps;
  for (std::size_t h = 0; h < hosts_.size(); ++h) {
    Host& host = hosts_[h];
    host.produced_ps = std::max(host.produced_ps, room_ps) + parts[h].service_ps;
    host.arrived_ps = std::max(host.produced_ps, host.arrived_ps) + parts[h].transfer_ps;
    start_ps = std::max(start_ps, host.arrived_ps);
  }
  start_ps += step.compilation_ps;
  for (std::size_t h = 0; h < hosts_.size(); ++h) events_[h] = event(h, parts[h], step, start_ps);
  if (starts_ps_.size() < queue_depth_) {
    starts_ps_.push_back(start_ps);
  } else if (queue_depth_ > 0) {
    starts_ps_[static_cast<std::size_t>(number_) % queue_depth_] = start_ps;
  }
  ++number_;
  end_ps_ = start_ps + step.time.total_ps();
  return events_;
}

std::int64_t SliceClock::latest_ps() const {
  std::int64_t latest_ps = end_ps_;
  for (const Host& host : hosts_) latest_ps = std::max(latest_ps, host.arrived_ps);
  return latest_ps;
}

/// When a host may begin with the next batch.
std::int64_t SliceClock::room_from_ps() const {
  if (queue_depth_ == 0) return end_ps_;
  if (starts_ps_.size() < queue_depth_) return 0;
  return starts_ps_[static_cast<std::size_t>(number_) % queue_depth_];
}

StepEvent SliceClock::event(std::size_t host, const HostPart& part, const Step& step,
                            std::int64_t start_ps) const {
  const std::int64_t ready_ps = std::max(end_ps_, hosts_[host].produced_ps);
  StepEvent event{.step = number_,
                  .replica = static_cast<std::int32_t>(host),
                  .examples = part.examples,
                  .begin_ps = end_ps_};
  event.infeed_wait_ps = ready_ps - end_ps_;
  event.transfer_ps = std::max<std::int64_t>(0, hosts_[host].arrived_ps - ready_ps);
  event.idle_ps = start_ps - end_ps_ - event.infeed_wait_ps - event.transfer_ps;
  event.compute_ps = step.time.compute_ps;
  event.all_reduce_ps = step.time.all_reduce_ps;
  return event;
}

}  // namespace infeed::detail
