#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include <infeed/device/cost_model.h>
#include <infeed/device/step_accounting.h>

/// Why: when a slice's steps begin and end follows from its hosts' service times by one recursion,
/// whether the times were recorded, drawn (virtual_run.h, which states it) or are those of a training
/// that runs right now. Integer picoseconds; no clock, no thread.
namespace infeed::detail {

/// One host's part of a step.
struct HostPart {
  std::int64_t examples = 0;
  std::int64_t service_ps = 0;   ///< to make its part of the batch
  std::int64_t transfer_ps = 0;  ///< of a chip's link
};

class SliceClock {
 public:
  /// `queue_depth` 0: a host begins with a batch when the step before it has ended.
  SliceClock(std::size_t hosts, std::int32_t queue_depth);

  struct Step {
    StepTime time = {};
    std::int64_t launch_ps = 0;  ///< before it may begin
    std::int64_t compilation_ps = 0;
  };
  /// The next step's account, one event a host, whose number is its `replica`. Valid until the next
  /// call.
  std::span<const StepEvent> step(std::span<const HostPart> parts, const Step& step);

  std::int64_t end_ps() const { return end_ps_; }  ///< of the last step
  /// Returns the later of that and the last arrival.
  std::int64_t latest_ps() const;

 private:
  struct Host {
    std::int64_t produced_ps = 0;
    std::int64_t arrived_ps = 0;
  };

  std::int64_t room_from_ps() const;
  StepEvent event(std::size_t host, const HostPart& part, const Step& step,
                  std::int64_t start_ps) const;

  const std::size_t queue_depth_;
  std::vector<Host> hosts_;
  std::vector<StepEvent> events_;
  std::vector<std::int64_t> starts_ps_;  ///< of the last queue_depth steps, by number modulo that
  std::int64_t number_ = 0;
  std::int64_t end_ps_ = 0;
};

}  // namespace infeed::detail
