#pragma once

#include <atomic>
#include <mutex>

#include <infeed/detail/hand_off.h>

namespace infeed::detail {

/// Whose turn it is to pull the input of a stage that has a driver: the driver's, or, in the stage's
/// serial form, the consumer's, so that a thread less is woken and nothing is handed over. The form
/// may change at any time.
///
/// Invariants: all but is_serial() and is_drivers() is called with the owner's lock. One of the two has the input at a
/// time. The consumer takes it only when the driver rests and has handed over all that it pulled;
/// the driver goes on only when the consumer has given it back.
class InputTurn {
 public:
  /// The consumer waits at `consumer`.
  InputTurn(HandOff& hand_off, WaitPoint& consumer)
      : hand_off_(hand_off), consumer_(consumer), driver_(hand_off) {}

  bool is_serial() const { return is_serial_.load(std::memory_order_relaxed); }
  void set_serial(bool serial) {
    is_serial_.store(serial, std::memory_order_relaxed);
    driver_.wake_all();
    consumer_.wake_all();
  }

  /// The driver, before each pull and without the lock: whether it need not wait_for_driver().
  bool is_drivers() const { return driver_runs_ && !is_serial(); }
  /// The same with it; false when there is nothing more to be pulled by anybody.
  bool wait_for_driver(std::unique_lock<std::mutex>& lock) {
    while ((is_serial() || consumer_has_it_) && !hand_off_.over()) {
      driver_rests_ = true;
      consumer_.wake_one();
      driver_.wait_once(lock);
    }
    driver_rests_ = false;
    driver_runs_ = true;
    return !hand_off_.over();
  }

  /// In its place, for a driver whose thread ends rather than waits: false when it isn't its turn.
  bool is_turn_or_end() {
    driver_rests_ = is_serial() || consumer_has_it_;
    if (driver_rests_) consumer_.wake_one();
    driver_runs_ = !driver_rests_;
    return driver_runs_ && !hand_off_.over();
  }
  /// The consumer, before it starts such a thread (again).
  void driver_starts() { driver_rests_ = false; }
  /// Whether that thread has ended, or never begun; without the lock it may be an old answer.
  bool driver_rests() const { return driver_rests_; }

  // The consumer, when it has taken all that there is:
  bool can_take() const { return is_serial() && driver_rests_; }
  void take() { consumer_has_it_ = true; }
  void give_back() {
    consumer_has_it_ = false;
    driver_.wake_one();
  }

 private:
  HandOff& hand_off_;
  WaitPoint& consumer_;
  WaitPoint driver_;
  std::atomic<bool> is_serial_{false};
  std::atomic<bool> driver_rests_{true};  ///< until it runs
  bool driver_runs_ = false;              ///< the driver's own: it has said that it doesn't rest
  bool consumer_has_it_ = false;
};

}  // namespace infeed::detail
