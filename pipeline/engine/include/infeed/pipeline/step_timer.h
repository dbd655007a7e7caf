#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

#include <infeed/pipeline/iterator.h>

/// Why: gives any training loop the account that the simulated device keeps: how long each step
/// computed, and how long it waited for its batch.
///
///     auto iterator = dataset.iterate();
///     infeed::StepTimer timer(iterator);
///     while (auto batch = iterator.next()) {
///       timer.begin();
///       use(*batch);
///       timer.end();
///     }
///     std::puts(timer.summary().c_str());  // "100 steps, 2.1 ms each: 93.0 % computing, ..."
///
/// A step lasts from the end of the step before to its own end. Infeed wait is the time of next(),
/// compute is the time between begin() and end(), idle is the rest. If the run records
/// (recording.h), each step is written down.
///
/// Thread-safety: the consumer's thread only. The iterator must outlive the timer. A step costs
/// about 0.2 us.
namespace infeed {

class StepTimer {
 public:
  template <class T>
  explicit StepTimer(Iterator<T>& iterator) : StepTimer(iterator.core_for_timer()) {}
  explicit StepTimer(detail::IteratorCore& core);

  /// Begins the step; call it when the batch is there. `name` says what is special about the step:
  /// "recompilation".
  void begin(std::string_view name = {});
  /// Ends the step. Without a begin() all time since the last end() except the wait counts as
  /// compute.
  void end();

  std::uint64_t steps() const { return steps_; }
  std::chrono::nanoseconds infeed_wait() const { return infeed_wait_; }
  std::chrono::nanoseconds compute() const { return compute_; }
  std::chrono::nanoseconds idle() const { return idle_; }
  /// Returns one line for a person.
  std::string summary() const;

 private:
  using Clock = std::chrono::steady_clock;

  detail::IteratorCore& core_;
  Clock::time_point last_end_ = Clock::now();
  Clock::time_point begin_ = {};
  bool has_begun_ = false;
  std::string name_;
  std::chrono::nanoseconds waited_before_;
  std::uint64_t position_before_;
  std::uint64_t steps_ = 0;
  std::chrono::nanoseconds infeed_wait_{0};
  std::chrono::nanoseconds compute_{0};
  std::chrono::nanoseconds idle_{0};
};

}  // namespace infeed
