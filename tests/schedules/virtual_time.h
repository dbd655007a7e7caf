#pragma once

#include <cstdint>

namespace infeed::schedules {

/// The clocks of a run, which go on by a fixed step at each look, so that a repeated schedule sees
/// the same times.
///
/// The engine reads the processor's counter if there is one. While a run is under way, these
/// instructions trap and get the run's time.
struct VirtualTime {
  std::int64_t step_ns = 1000;
  /// The processor time of threads stands still, as if they only waited.
  bool threads_seem_to_wait = false;
  std::int64_t now_ns = 1'000'000'000;
  std::int64_t looks = 0;

  std::int64_t look() {
    ++looks;
    return now_ns += step_ns;
  }
};

/// While it lives the processor's counter shows `time` to the calling thread.
class CounterShows {
 public:
  explicit CounterShows(VirtualTime& time);
  ~CounterShows();
  CounterShows(const CounterShows&) = delete;
  CounterShows& operator=(const CounterShows&) = delete;

  /// Returns false if the system can't: times then differ from run to run.
  static bool is_possible();
};

}  // namespace infeed::schedules
