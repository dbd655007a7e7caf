#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <span>
#include <vector>

#include <infeed/device/cost_model.h>
#include <infeed/device/step_accounting.h>

/// Why: when a slice's steps begin and end follows from its hosts' service times by one recursion,
/// whether the times were recorded, drawn (virtual_run.h, which states it), are those of a training
/// that runs right now, or of real queues that a thread drains (paced.h). Integer picoseconds; no
/// clock, no thread.
///
/// A thread that drains queues may wake up late, which must not be charged to the input. So beside the
/// instants that were, the clock keeps those that would have been, had all batches been taken in time:
/// the recursion's, with the host's own pauses added to its service times. Waiting up to those is the
/// input's; waiting beyond them is idle. Time lost in such a way is lost to both sides: punctual
/// instants are put off by it, so that a host that is too slow can't live on credit.
namespace infeed::detail {

/// One host's part of a step, or one replica's.
struct StepPart {
  std::int64_t examples = 0;
  std::int64_t service_ps = 0;   ///< to make its part of the batch
  std::int64_t transfer_ps = 0;  ///< of a chip's link
};

/// When things happened to a batch, since the beginning of the run.
struct BatchInstants {
  std::int64_t asked_ps = 0;  ///< the host began with it
  std::int64_t ready_ps = 0;  ///< the host had it
  std::int64_t taken_ps = 0;  ///< the draining thread had taken it out of the queue
};

class SliceClock {
 public:
  /// `queue_depth` 0: a host begins with a batch when the step before it has ended.
  SliceClock(std::size_t parts, std::int32_t queue_depth);

  struct Step {
    StepTime time = {};
    std::int64_t launch_ps = 0;  ///< before it may begin
    std::int64_t compilation_ps = 0;
  };
  /// The next step's account, one event a part, whose number is its `replica`. Valid until the next
  /// call.
  std::span<const StepEvent> step(std::span<const StepPart> parts, const Step& step);
  /// The same where the batch, one for all parts, had these instants; no `service_ps` is read. With a
  /// `queue_depth` of 0 the host begins when the device asks for it.
  std::span<const StepEvent> step(std::span<const StepPart> parts, const Step& step,
                                  const BatchInstants& batch);

  std::int64_t end_ps() const { return end_ps_; }  ///< of the last step
  /// Returns the later of that and the last arrival.
  std::int64_t latest_ps() const;

 private:
  struct Input {
    std::int64_t produced_ps = 0;  ///< had all batches been taken in time, as arrived_ps
    std::int64_t arrived_ps = 0;
    std::int64_t link_free_ps = 0;  ///< when it really arrived
  };
  /// When a batch was due to be taken, and when it was.
  struct Taking {
    std::int64_t due_ps = 0;
    std::int64_t done_ps = 0;
  };

  /// Returns when the batch was taken behind which there is room for the next one; 0: there was always.
  Taking made_room() const;
  void end_step(const Taking& taking);
  std::int64_t punctual_ps(const BatchInstants& batch) const;
  void run(std::span<const StepPart> parts, const Step& step, std::int64_t waits_from_ps,
           std::int64_t late_ps);

  const std::size_t queue_depth_;
  std::vector<Input> inputs_;  ///< a part each
  std::vector<StepEvent> events_;
  std::deque<Taking> takings_;  ///< the last queue_depth + 1 batches
  std::int64_t number_ = 0;
  std::int64_t end_ps_ = 0;
  std::int64_t ready_ps_ = 0;  ///< the batch before
};

}  // namespace infeed::detail
