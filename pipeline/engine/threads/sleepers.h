#pragma once

#include <mutex>

#include <infeed/detail/hand_off.h>

namespace infeed::detail {

/// Threads that have nothing to do. Why not a WaitPoint alone: a thread that was woken takes 20 to 60 us
/// to come, and whoever finds something to do meanwhile would wake another one for it, which then
/// takes somebody's core for nothing (of two that parse 784-byte images the consumer lost 4 % of its
/// time so).
///
///     auto lock = hand_off_.lock();              // whoever finds something to do
///     if (idle_.asleep() > 0 && idle_.on_their_way() == 0) idle_.wake_one();
///
/// Invariant: all of it is guarded by the lock of the HandOff. A thread that woke by itself counts as
/// one that was woken, so that fewer are thought to be on their way than there are, never more.
class Sleepers {
 public:
  explicit Sleepers(HandOff& hand_off) : point_(hand_off) {}

  /// That nobody has woken.
  int asleep() const { return point_.waiting() - on_their_way_; }
  int on_their_way() const { return on_their_way_; }
  /// There is one asleep.
  void wake_one() {
    ++on_their_way_;
    point_.wake_one();
  }
  void wake_all() {
    on_their_way_ = point_.waiting();
    point_.wake_all();
  }
  void sleep(std::unique_lock<std::mutex>& lock) {
    point_.wait_once(lock);
    if (on_their_way_ > 0) --on_their_way_;
  }

 private:
  WaitPoint point_;
  int on_their_way_ = 0;
};

}  // namespace infeed::detail
