#include "time/paced_clock.h"

#include <algorithm>

namespace infeed {

PacedClock::PacedClock(const Slice& slice, const Options& options)
    : chip_(slice.chip()),
      options_(options),
      replicas_per_chip_(static_cast<std::size_t>(slice.replicas_per_chip())),
      takings_(static_cast<std::size_t>(options.depth) + 1) {
  const auto replicas = static_cast<std::size_t>(slice.replicas_of_host(0));
  links_.resize(replicas / replicas_per_chip_);
  events_.resize(replicas);
}

/// When the batch would have been there if all before it had been taken in time.
std::int64_t PacedClock::punctual_ready_ps(const BatchInstants& batch) const {
  const std::int64_t asked_ps = since_origin_ps(batch.asked_ns);
  const std::int64_t ready_ps = since_origin_ps(batch.ready_ns);
  if (number_ == 0) return ready_ps;
  std::int64_t could_begin_ps = ready_ps_;
  std::int64_t should_begin_ps = punctual_ps_;
  if (number_ > options_.depth) {  // the one that had to make room for the batch before
    const Taking& taking = takings_[static_cast<std::size_t>(number_) % takings_.size()];
    could_begin_ps = std::max(could_begin_ps, taking.done_ps);
    should_begin_ps = std::max(should_begin_ps, taking.due_ps);
  }
  const std::int64_t pause_ps = std::max<std::int64_t>(0, asked_ps - could_begin_ps);
  return std::min(ready_ps, should_begin_ps + pause_ps + (ready_ps - asked_ps));
}

std::span<const StepEvent> PacedClock::step(std::span<const PacedShare> shares,
                                            const BatchInstants& batch) {
  const bool is_ahead = options_.depth > 0;
  const std::int64_t ready_ps = since_origin_ps(batch.ready_ns);
  const std::int64_t punctual_ps = is_ahead ? punctual_ready_ps(batch) : ready_ps;
  // A device that had to ask was idle until its host woke up and asked.
  const std::int64_t waits_from_ps =
      is_ahead ? end_ps_ : std::max(end_ps_, since_origin_ps(batch.asked_ns));
  const std::int64_t waits_until_ps = std::max(waits_from_ps, punctual_ps);
  std::int64_t start_ps = waits_from_ps;
  std::int64_t punctual_start_ps = waits_from_ps;
  for (std::size_t chip = 0; chip < links_.size(); ++chip) {
    Link& link = links_[chip];
    std::int64_t bytes = 0;
    for (std::size_t r = 0; r < replicas_per_chip_; ++r) {
      bytes += shares[chip * replicas_per_chip_ + r].bytes;
    }
    const std::int64_t takes_ps = transfer_ps(chip_, bytes);
    link.free_ps = std::max(ready_ps, link.free_ps) + takes_ps;
    link.punctual_ps = std::min(link.free_ps, std::max(punctual_ps, link.punctual_ps) + takes_ps);
    start_ps = std::max(start_ps, link.free_ps);
    punctual_start_ps = std::max(punctual_start_ps, link.punctual_ps);
  }
  for (std::size_t r = 0; r < events_.size(); ++r) {
    StepEvent& event = events_[r];
    event = {.step = number_,
             .replica = static_cast<std::int32_t>(r),
             .examples = shares[r].examples,
             .begin_ps = end_ps_};
    event.infeed_wait_ps = waits_until_ps - waits_from_ps;
    event.transfer_ps =
        std::max<std::int64_t>(0, links_[r / replicas_per_chip_].punctual_ps - waits_until_ps);
    event.idle_ps = start_ps - end_ps_ - event.infeed_wait_ps - event.transfer_ps;
    event.compute_ps = options_.step.compute_ps;
    event.all_reduce_ps = options_.step.all_reduce_ps;
  }
  const std::int64_t lost_ps = start_ps - punctual_start_ps;
  for (Link& link : links_) {
    link.punctual_ps = std::min(link.free_ps, link.punctual_ps + lost_ps);
  }
  ready_ps_ = ready_ps;
  punctual_ps_ = std::min(ready_ps, punctual_ps + lost_ps);
  takings_[static_cast<std::size_t>(number_) % takings_.size()] = {
      .due_ps = end_ps_, .done_ps = since_origin_ps(batch.taken_ns)};
  ++number_;
  end_ps_ = start_ps + options_.step.total_ps();
  return events_;
}

std::int64_t PacedClock::end_ns() const { return options_.origin_ns + (end_ps_ + 999) / 1000; }

}  // namespace infeed
