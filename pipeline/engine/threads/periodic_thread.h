#pragma once

#include <chrono>
#include <functional>
#include <thread>

#include <infeed/detail/hand_off.h>

namespace infeed::detail {

/// A thread that does something now and then: waits for `pause`, calls `step`, and so on until that
/// returns false or the object goes. The thread has ended when the destructor returns; a step that
/// is under way is waited for.
class PeriodicThread {
 public:
  /// `begin` is the first that the thread calls.
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
