#include "time/slice_clock.h"

#include <algorithm>

namespace infeed::detail {

SliceClock::SliceClock(std::size_t parts, std::int32_t queue_depth)
    : queue_depth_(static_cast<std::size_t>(queue_depth)), inputs_(parts), events_(parts) {}

std::span<const StepEvent> SliceClock::step(std::span<const StepPart> parts, const Step& step) {
  const std::int64_t begins_ps = room_ps();
  for (std::size_t p = 0; p < parts.size(); ++p) {
    inputs_[p].produced_ps = std::max(inputs_[p].produced_ps, begins_ps) + parts[p].service_ps;
  }
  const Taking punctual{.due_ps = end_ps_, .done_ps = end_ps_};
  run(parts, step, end_ps_, 0);
  end_step(punctual);
  return events_;
}

void SliceClock::pass(std::span<const StepPart> parts, const Step& step) {
  const std::int64_t begins_ps = room_ps();
  std::int64_t start_ps = end_ps_ + step.launch_ps;
  for (std::size_t p = 0; p < parts.size(); ++p) {
    Input& input = inputs_[p];
    input.produced_ps = std::max(input.produced_ps, begins_ps) + parts[p].service_ps;
    input.link_free_ps = std::max(input.produced_ps, input.link_free_ps) + parts[p].transfer_ps;
    input.arrived_ps = input.link_free_ps;  // nobody took a batch late
    start_ps = std::max(start_ps, input.link_free_ps);
  }
  end_step({.due_ps = end_ps_, .done_ps = end_ps_});
  end_ps_ = start_ps + step.compilation_ps + step.time.total_ps();
}

std::span<const StepEvent> SliceClock::step(std::span<const StepPart> parts, const Step& step,
                                            const BatchInstants& batch) {
  const bool is_ahead = queue_depth_ > 0;
  const std::int64_t due_ps = end_ps_;
  const std::int64_t produced_ps = is_ahead ? punctual_ps(batch) : batch.ready_ps;
  for (Input& input : inputs_) input.produced_ps = produced_ps;
  // A device that had to ask was idle until its host woke up and asked.
  run(parts, step, is_ahead ? end_ps_ : std::max(end_ps_, batch.asked_ps),
      batch.ready_ps - produced_ps);
  ready_ps_ = batch.ready_ps;
  end_step({.due_ps = due_ps, .done_ps = batch.taken_ps});
  return events_;
}

SliceClock::Taking SliceClock::made_room() const {
  return takings_.size() <= queue_depth_ ? Taking{} : takings_.front();
}

void SliceClock::end_step(const Taking& taking) {
  takings_.push_back(taking);
  if (takings_.size() > queue_depth_ + 1) takings_.pop_front();
  ++number_;
}

/// Returns when the batch would have been ready if all earlier ones had been taken in time.
std::int64_t SliceClock::punctual_ps(const BatchInstants& batch) const {
  const Taking room = made_room();
  const std::int64_t could_begin_ps = std::max(ready_ps_, room.done_ps);
  const std::int64_t should_begin_ps = std::max(inputs_.front().produced_ps, room.due_ps);
  const std::int64_t pause_ps = std::max<std::int64_t>(0, batch.asked_ps - could_begin_ps);
  return std::min(batch.ready_ps, should_begin_ps + pause_ps + (batch.ready_ps - batch.asked_ps));
}

/// Runs the step whose input is produced; the input was really ready `late_ps` later.
void SliceClock::run(std::span<const StepPart> parts, const Step& step, std::int64_t waits_from_ps,
                     std::int64_t late_ps) {
  std::int64_t start_ps = waits_from_ps + step.launch_ps;
  std::int64_t punctual_start_ps = start_ps;
  for (std::size_t p = 0; p < parts.size(); ++p) {
    Input& input = inputs_[p];
    const std::int64_t takes_ps = parts[p].transfer_ps;
    input.link_free_ps = std::max(input.produced_ps + late_ps, input.link_free_ps) + takes_ps;
    input.arrived_ps =
        std::min(input.link_free_ps, std::max(input.produced_ps, input.arrived_ps) + takes_ps);
    start_ps = std::max(start_ps, input.link_free_ps);
    punctual_start_ps = std::max(punctual_start_ps, input.arrived_ps);
  }
  const std::int64_t lost_ps = start_ps - punctual_start_ps;
  start_ps += step.compilation_ps;
  for (std::size_t p = 0; p < parts.size(); ++p) {
    Input& input = inputs_[p];
    StepEvent& event = events_[p];
    const std::int64_t waits_until_ps = std::max(waits_from_ps, input.produced_ps);
    event = {.step = number_,
             .replica = static_cast<std::int32_t>(p),
             .examples = parts[p].examples,
             .begin_ps = end_ps_,
             .infeed_wait_ps = waits_until_ps - waits_from_ps,
             .transfer_ps = std::max<std::int64_t>(0, input.arrived_ps - waits_until_ps)};
    event.idle_ps = start_ps - end_ps_ - event.infeed_wait_ps - event.transfer_ps;
    event.compute_ps = step.time.compute_ps;
    event.all_reduce_ps = step.time.all_reduce_ps;
    input.arrived_ps = std::min(input.link_free_ps, input.arrived_ps + lost_ps);
    input.produced_ps += std::min(late_ps, lost_ps);
  }
  end_ps_ = start_ps + step.time.total_ps();
}

}  // namespace infeed::detail
