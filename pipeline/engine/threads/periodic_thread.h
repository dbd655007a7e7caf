#pragma once

#include <chrono>
#include <functional>
#include <thread>

#include <infeed/detail/hand_off.h>

namespace infeed::detail {

/// The longest time that a user's limit stands for, 30 years: nanoseconds count no more than 292.
inline constexpr std::chrono::milliseconds kLongestWait = std::chrono::seconds(1'000'000'000);

/// A thread that does something now and then. It waits for `pause` (from 1 ms to kLongestWait) and
/// calls `step`, until `step` returns false or the object is destroyed. The destructor waits for a
/// running step and for the thread's end. A step that finds no memory ends there, and the next one
/// comes in its time.
class PeriodicThread {
 public:
  /// The thread calls `begin` first.
  PeriodicThread(std::function<void()> begin, std::chrono::milliseconds pause,
                 std::function<bool()> step);
  ~PeriodicThread();
  PeriodicThread(const PeriodicThread&) = delete;
  PeriodicThread& operator=(const PeriodicThread&) = delete;

 private:
  void run();

  const std::function<void()> begin_;
  const std::chrono::milliseconds pause_;
  const std::function<bool()> step_;
  HandOff hand_off_;
  WaitPoint end_{hand_off_};
  std::thread thread_;
};

}  // namespace infeed::detail
