#pragma once

#include <atomic>

#include <infeed/detail/hand_off.h>

namespace infeed::detail {

/// Whose turn it is to pull the input of a stage that has a driver: the driver's, or, in the stage's
/// serial form, the consumer's, so that a thread less is woken and nothing is handed over. The form
/// may change at any time: the driver's thread ends then, and is started again by the consumer.
///
/// Invariants: the owner's lock guards it. One of the two has the input at a time. The consumer takes it
/// only when the driver rests and has handed over all that it pulled; the driver goes on only when the
/// consumer has given it back.
class InputTurn {
 public:
  /// The consumer waits at `consumer`.
  InputTurn(HandOff& hand_off, WaitPoint& consumer) : hand_off_(hand_off), consumer_(consumer) {}

  // Without the lock:
  bool is_serial() const { return is_serial_.load(std::memory_order_relaxed); }
  /// The driver, before each pull; false when its thread is to end: the consumer has the input, or
  /// nothing more is wanted.
  bool driver_goes_on() {
    if (driver_runs_ && !is_serial()) return true;
    const auto lock = hand_off_.lock();
    driver_rests_ = is_serial() || consumer_has_it_;
    if (driver_rests_) consumer_.wake_one();
    driver_runs_ = !driver_rests_;
    return driver_runs_ && !hand_off_.over();
  }
  /// The consumer, before it starts that thread (again), and when that failed.
  void driver_starts() {
    const auto lock = hand_off_.lock();
    driver_rests_ = false;
  }
  void driver_did_not_start() {
    const auto lock = hand_off_.lock();
    driver_rests_ = true;
  }
  /// The consumer, which had taken it.
  void give_back() {
    const auto lock = hand_off_.lock();
    consumer_has_it_ = false;
  }
  /// Whether that thread has ended, or never begun; without the lock it may be an old answer.
  bool driver_rests() const { return driver_rests_; }

  // With the lock:
  void set_serial(bool serial) {
    is_serial_.store(serial, std::memory_order_relaxed);
    consumer_.wake_all();
  }
  /// The consumer, when the driver rests and there is nothing left of what it pulled.
  void take() { consumer_has_it_ = true; }

 private:
  HandOff& hand_off_;
  WaitPoint& consumer_;
  std::atomic<bool> is_serial_{false};
  std::atomic<bool> driver_rests_{true};  ///< until it runs
  bool driver_runs_ = false;              ///< the driver's own: it has said that it doesn't rest
  bool consumer_has_it_ = false;
};

}  // namespace infeed::detail
