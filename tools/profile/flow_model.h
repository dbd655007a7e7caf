#pragma once

#include <cstdint>
#include <vector>

#include "profile/profile_report.h"

/// Why: the gain of a change is asked for before it is made. The model is a bound: a pipeline can't
/// give more than the slowest of its lanes (a thread, or the threads of one stage), nor more than
/// its cores can compute, nor than the training step takes.
///
///     const FlowModel model(run);
///     FlowModel::Costs changed = model.costs();
///     changed.cores *= 2;
///     const double gain = model.gain(changed);  // 0.1: 10 % more steps a second; see what_ifs.h
///
/// Service times come from the windows of the recording: CPU and blocked time of each stage, per
/// element that the training step took. A change alters them, and the bound is taken again; the
/// gain is the ratio of the two. What lies between the bound and the measured rate (variance,
/// waking) is taken to stay.
namespace infeed::tools {

class FlowModel {
 public:
  /// Per element that the training step took.
  struct Service {
    double cpu_s = 0;
    double blocked_s = 0;
    double elements = 0;
    double bytes = 0;
    int parallelism = 1;
    bool runs_ahead = false;   ///< a thread of its own pulls what it pulls
    bool is_parallel = false;  ///< its work is done by threads of its own
  };
  struct Costs {
    std::vector<Service> stages;
    double step_s = 0;  ///< the consumer's own time, per element
    double cores = 1;
    double cores_of_others = 0;  ///< busy with other processes
    double cores_used = 0;       ///< by this one, in the recorded run
    /// Returns the cores that the process gets when it wants them all: the kernel shares them
    /// evenly.
    double cores_to_have() const;
  };

  explicit FlowModel(const RecordedRun& run);

  /// The stage that bounds the rate; -1 when it is the training step, or nothing was recorded.
  int bottleneck() const;
  /// True if the stage pulls from no other: it reads files or makes elements.
  bool is_source(int stage) const { return is_source_[static_cast<std::size_t>(stage)]; }
  double pipeline_steps_per_s() const { return pipeline_steps_per_s(costs_); }
  /// Returns the rate of the pipeline alone with other costs; 0 if nothing was recorded.
  double pipeline_steps_per_s(const Costs& costs) const;
  double device_steps_per_s() const;
  /// True if elements go from `stage` to `consumer`.
  bool is_before(int stage, int consumer) const;
  /// All stages, those that they pull behind them.
  const std::vector<int>& order() const { return order_; }
  /// As recorded.
  const Costs& costs() const { return costs_; }
  /// Returns the time that an element took; 0 if nothing was recorded.
  double seconds() const { return seconds_; }
  /// Returns the gain of other costs. `stalls_ns`: time of late steps that would no longer come.
  double gain(const Costs& changed, std::uint64_t stalls_ns = 0) const;
  /// The same for a pipeline that works while the step does, rather than before it.
  double gain_of_prefetch() const;

 private:
  void measure();
  void measure_steps(std::uint64_t step_ns, double count);
  void find_rare_waits(double count);
  void find_missing_cpu(double process_cpu_s);
  /// By stage: the stage whose thread pulls it; -1: the consumer's own does.
  std::vector<int> lanes(const Costs& costs) const;
  void learn_order();
  /// Seconds an element takes at best, and the stage that bounds it.
  struct Bound {
    double seconds = 0;
    int stage = -1;
  };
  Bound bound(const Costs& costs, bool with_step) const;

  const RecordedRun& run_;
  // Kept, since a file may name thousands of stages, and each is asked about every other one.
  std::vector<bool> is_source_;
  std::vector<int> order_;
  /// By stage: its place in that order, from 1, and the end of the stages that it pulls.
  std::vector<std::size_t> order_begin_, order_end_;
  Costs costs_;
  Bound recorded_;  ///< with these costs, and the step
  double elements_per_step_ = 1;
  double seconds_ = 0;
  std::uint64_t steps_ns_ = 0;  ///< all of them
};

}  // namespace infeed::tools
