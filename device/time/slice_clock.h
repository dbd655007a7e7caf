#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <span>
#include <vector>

#include <infeed/device/cost_model.h>
#include <infeed/device/step_accounting.h>

/// Why: one recursion gives the begin and end of a slice's steps from its hosts' service times
/// (virtual_run.h states it). The times may be recorded or drawn, measured in a training that runs
/// right now, or those of real queues that a thread drains (paced.h). Integer picoseconds; no
/// clock, no thread.
///
/// A draining thread may wake up late, which must not be charged to the input. So beside the real
/// instants the clock keeps punctual ones, as if all batches had been taken in time: the
/// recursion's, with the host's own pauses added to its service times. Waiting up to the punctual
/// instants is infeed wait; waiting beyond them is idle. Lost time also puts off the punctual
/// instants, so that a host that is too slow can't live on credit.
namespace infeed::detail {

/// One host's part of a step, or one replica's.
struct StepPart {
  std::int64_t examples = 0;
  std::int64_t service_ps = 0;   ///< time to make its part of the batch
  std::int64_t transfer_ps = 0;  ///< time on a chip's link
};

/// Instants of a batch, since the beginning of the run.
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
    std::int64_t launch_ps = 0;  ///< the host's launch, before the step may begin
    std::int64_t compilation_ps = 0;
  };
  /// Returns the next step's account, one event a part, whose number is its `replica`. Valid until
  /// the next call.
  std::span<const StepEvent> step(std::span<const StepPart> parts, const Step& step);
  /// Takes the same step without an account, in a fraction of the time.
  void pass(std::span<const StepPart> parts, const Step& step);
  /// The same as step() for a batch, one for all parts, with known instants; `service_ps` isn't
  /// read. With a `queue_depth` of 0 the host begins when the device asks for it.
  std::span<const StepEvent> step(std::span<const StepPart> parts, const Step& step,
                                  const BatchInstants& batch);

  std::int64_t end_ps() const { return end_ps_; }  ///< end of the last step

 private:
  struct Input {
    std::int64_t produced_ps = 0;  ///< this and arrived_ps: as if all batches had been taken in
                                   ///< time
    std::int64_t arrived_ps = 0;
    std::int64_t link_free_ps = 0;  ///< real arrival
  };
  /// The due and the real instant at which a batch was taken.
  struct Taking {
    std::int64_t due_ps = 0;
    std::int64_t done_ps = 0;
  };

  /// Returns when the batch was taken whose leaving makes room for the next one; 0: there was room
  /// before.
  Taking made_room() const;
  /// Returns when the hosts could begin with the next batch, if all were taken in time.
  std::int64_t room_ps() const { return queue_depth_ == 0 ? end_ps_ : made_room().due_ps; }
  void end_step(const Taking& taking);
  std::int64_t punctual_ps(const BatchInstants& batch) const;
  void run(std::span<const StepPart> parts, const Step& step, std::int64_t waits_from_ps,
           std::int64_t late_ps);

  const std::size_t queue_depth_;
  std::vector<Input> inputs_;  ///< one for each part
  std::vector<StepEvent> events_;
  std::deque<Taking> takings_;  ///< the last queue_depth + 1 batches
  std::int64_t number_ = 0;
  std::int64_t end_ps_ = 0;
  std::int64_t ready_ps_ = 0;  ///< when the batch before was ready
};

}  // namespace infeed::detail
