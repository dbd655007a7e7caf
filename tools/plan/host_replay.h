#pragma once

#include <cstdint>
#include <stop_token>
#include <vector>

#include <infeed/device/slice.h>
#include <infeed/device/virtual_run.h>

#include "profile/flow_model.h"
#include "profile/recorded_run.h"
#include "profile/recorded_service.h"

namespace infeed::tools {

/// Replays a recording's batches on hosts with other cores and queues.
class HostReplay {
 public:
  /// `run` must outlive it. Throws Error (failed_precondition) if it has no step.
  explicit HostReplay(const RecordedRun& run, std::stop_token stop = {});

  struct Hosts {
    const Slice& slice;
    StepTime step = {};
    double cores = 0;  ///< number a host; 0: times as recorded
    std::int32_t queue_depth = 0;
  };
  /// Throws Error (cancelled).
  VirtualSpan span(const Hosts& hosts) const;
  /// The same run: how slow the hosts are. Takes ten times as long as span().
  ServiceTail tail(const Hosts& hosts) const;

  const RecordedService& service() const { return service_; }
  const FlowModel& model() const { return model_; }
  /// Returns the times of the recorded batches on a host with so many cores of its own.
  std::vector<std::int64_t> times_with(double cores) const;
  /// Returns bytes that a batch of one host takes out of files.
  double storage_bytes() const;
  /// Returns CPU time for a batch of one host.
  double cpu_s() const;

 private:
  ServiceTimes service_times(const Hosts& hosts) const;
  VirtualOptions run_of(const Hosts& hosts) const;
  void check_not_stopped() const;
  /// Returns the usual time of a batch with these cores, as a share of the recorded one.
  double share_of_usual(double cores) const;

  const RecordedRun& run_;
  const RecordedService service_;
  const FlowModel model_;
  const std::stop_token stop_;
  std::int64_t usual_ps_ = 0;
};

}  // namespace infeed::tools
