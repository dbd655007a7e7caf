#pragma once

#include <cstddef>
#include <deque>
#include <optional>

#include <infeed/detail/hand_off.h>

namespace infeed::test {

/// The queue of hand_off.h's example, with limited room.
class NumbersQueue {
 public:
  explicit NumbersQueue(std::size_t numbers_max) : numbers_max_(numbers_max) {}

  bool push(int number) {
    auto lock = hand_off_.lock();
    if (!room_.wait(lock, [this] { return numbers_.size() < numbers_max_; })) return false;
    numbers_.push_back(number);
    filled_.wake_one();
    return true;
  }
  std::optional<int> pop() {
    auto lock = hand_off_.lock();
    const auto ready = [this] { return !numbers_.empty() || hand_off_.finished(); };
    if (!filled_.wait(lock, ready)) return std::nullopt;
    if (numbers_.empty()) {
      hand_off_.throw_failure();
      return std::nullopt;
    }
    const int number = numbers_.front();
    numbers_.pop_front();
    room_.wake_one();
    return number;
  }
  detail::HandOff& hand_off() { return hand_off_; }
  int waiting_for_room() {
    const auto lock = hand_off_.lock();
    return room_.waiting();
  }

 private:
  const std::size_t numbers_max_;
  detail::HandOff hand_off_;
  detail::WaitPoint filled_{hand_off_}, room_{hand_off_};
  std::deque<int> numbers_;  // guarded by hand_off_.lock()
};

}  // namespace infeed::test
