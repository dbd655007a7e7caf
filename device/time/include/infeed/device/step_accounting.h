#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <infeed/error.h>

/// Why: "is my training waiting for input?" is answered by one account of every step, kept the same
/// way for steps that are paced by a clock, replayed virtually or really computed.
///
///     infeed::StepAccounting accounting(slice.num_replicas());
///     accounting.add(events_of_one_step);                     // one StepEvent a replica
///     infeed::StepSummary s = accounting.summary();
///     fmt::print("{:.0f} images/s. {}\n", s.examples_per_s, s.sentence());
///
/// Definitions are XProf's (input pipeline analyzer). The infeed wait of a step is the maximum over
/// its replicas; the share is the sum of these waits over the sum of the step times. From 20 % on
/// the program is HIGHLY, from 5 % on MODERATELY input-bound. The duty cycle is the union of a
/// device's busy intervals (compute, all-reduce) over the span, averaged over the replicas.
///
/// Thread-safety: one thread at a time.
namespace infeed {

/// The times of one replica in one step, in the schema that every mode writes. Times are integer
/// picoseconds. The parts lie back to back from begin_ps on, in the order of their declaration, so
/// a step always adds up exactly.
struct StepEvent {
  std::int64_t step = 0;
  std::int32_t replica = 0;
  std::int64_t examples = 0;        ///< examples of this replica
  std::int64_t begin_ps = 0;        ///< since the start of the run; the end of the step before
  std::int64_t infeed_wait_ps = 0;  ///< its queue was empty
  std::int64_t transfer_ps = 0;     ///< host to device, the part that no step hid
  std::int64_t idle_ps = 0;         ///< it had its data and waited for others or the host
  std::int64_t compute_ps = 0;
  std::int64_t all_reduce_ps = 0;

  std::int64_t busy_ps() const { return compute_ps + all_reduce_ps; }
  std::int64_t step_ps() const { return infeed_wait_ps + transfer_ps + idle_ps + busy_ps(); }
  std::int64_t end_ps() const { return begin_ps + step_ps(); }
};

enum class InputVerdict { not_bound, moderately_bound, highly_bound };

/// "NOT", "MODERATELY" or "HIGHLY".
std::string_view to_string(InputVerdict verdict);

/// `infeed_wait_share` in 0..1.
InputVerdict input_verdict(double infeed_wait_share);

/// The clock of an account: wall for this process, device for the simulated slice.
enum class StepClock : std::uint8_t { device, wall };

struct StepSummary {
  StepClock clock = StepClock::device;
  std::int64_t steps = 0;
  std::int64_t examples = 0;
  std::int64_t span_ps = 0;  ///< first begin to last end
  // Sums over the steps. The infeed wait of a step is the longest wait of a replica. The other
  // parts are of that same replica, so that the five add up to the sum of the step times.
  std::int64_t infeed_wait_ps = 0;
  std::int64_t transfer_ps = 0;
  std::int64_t idle_ps = 0;
  std::int64_t compute_ps = 0;
  std::int64_t all_reduce_ps = 0;
  std::int64_t step_ps = 0;  ///< the sum of the five
  std::int64_t step_ps_max = 0;
  double steps_per_s = 0;
  double examples_per_s = 0;
  double duty_cycle = 0;         ///< 0..1
  double infeed_wait_share = 0;  ///< 0..1
  InputVerdict verdict = InputVerdict::not_bound;

  /// Returns the account without `ps` of the idle time, which was spent only once (compiling).
  StepSummary without_idle(std::int64_t ps) const;
  /// XProf's words: "Your program is HIGHLY input-bound because 42.1% of the total step time
  /// sampled is waiting for input. Therefore, you should first focus on reducing the input time."
  std::string sentence() const;
  /// The same for a training, which has both clocks: "On the device's clock: Your program is ...".
  std::string sentence_with_clock() const;
};

/// Returns the shares of the parts in tenths of a percent, which add up to 1000: each is rounded
/// down, and the missing tenths go to the parts with the largest remainders.
std::vector<int> permille(const std::vector<std::int64_t>& parts);

class StepAccounting {
 public:
  explicit StepAccounting(std::int32_t replicas);

  /// Counts a step: one event for each replica 0..n-1, in that order, all of one step and ending
  /// together. Otherwise throws invalid_argument and doesn't count it.
  void add(std::span<const StepEvent> step);

  /// Returns the account; all zero, verdict NOT, if no step was added.
  StepSummary summary() const;

 private:
  struct Busy {
    std::int64_t end_ps = 0;
    std::int64_t union_ps = 0;
  };

  std::vector<Busy> busy_;
  StepSummary sums_;
  std::optional<std::int64_t> begin_ps_;
  std::int64_t end_ps_ = 0;
};

}  // namespace infeed
