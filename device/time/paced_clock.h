#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include <infeed/device/cost_model.h>
#include <infeed/device/slice.h>
#include <infeed/device/step_accounting.h>

/// Why: what paced mode charges to the input must not hang on when its own thread happened to wake
/// up. Here are the rules by which instants become the account of a step; no thread, no clock, so
/// that a test can say what happened when.
///
/// Step i starts at max(end(i-1), arrival of its batch), computed from when the batch was ready. The
/// host can be no further ahead than its queue allows, though, and a pacing thread that is late
/// takes batches out late. So the instants at which batches would have been ready had they been
/// taken in time are kept beside those that were:
/// - punctual(j) = max(punctual(j-1), end(j-2-depth)) + the host's own pauses + service(j)
/// because batch j is begun when batch j-1-depth has been taken, which is due when the step before
/// that one has ended. Waiting up to punctual(j) is the input's; what is beyond it is idle. Time
/// lost in such a way is lost to both sides: punctual instants are put off by it, so that a host
/// that is too slow can't live on credit.
namespace infeed {

/// What a replica gets.
struct PacedShare {
  std::int64_t examples = 0;
  std::int64_t bytes = 0;
};

/// When things happened to a batch, in nanoseconds of one clock.
struct BatchInstants {
  std::int64_t asked_ns = 0;  ///< the host began with it
  std::int64_t ready_ns = 0;  ///< the host had it
  std::int64_t taken_ns = 0;  ///< the pacing thread had taken it out of the queue
};

class PacedClock {
 public:
  struct Options {
    StepTime step = {};
    /// Batches that the queue holds; 0: the host begins with a batch when the device asks for it.
    std::int32_t depth = 2;
    std::int64_t origin_ns = 0;  ///< the beginning of the run
  };

  /// Of the first host's replicas.
  PacedClock(const Slice& slice, const Options& options);

  /// The account of the next step, one share and event a replica. Valid until the next call.
  std::span<const StepEvent> step(std::span<const PacedShare> shares, const BatchInstants& batch);

  std::int64_t end_ps() const { return end_ps_; }  ///< of the last step, since the origin
  std::int64_t end_ns() const;                     ///< the same by the clock, rounded up

 private:
  struct Link {
    std::int64_t free_ps = 0;
    std::int64_t punctual_ps = 0;
  };

  std::int64_t since_origin_ps(std::int64_t ns) const { return (ns - options_.origin_ns) * 1000; }
  std::int64_t punctual_ready_ps(const BatchInstants& batch) const;

  const ChipSpec& chip_;
  const Options options_;
  const std::size_t replicas_per_chip_;
  std::vector<Link> links_;  ///< a chip each
  std::vector<StepEvent> events_;
  std::int64_t number_ = 0;
  std::int64_t end_ps_ = 0;
  std::int64_t ready_ps_ = 0;  ///< of the batch before
  std::int64_t punctual_ps_ = 0;
  /// Of the last depth + 1 batches, by number modulo that: when they were due to be taken, and when
  /// they were.
  struct Taking {
    std::int64_t due_ps = 0;
    std::int64_t done_ps = 0;
  };
  std::vector<Taking> takings_;
};

}  // namespace infeed
