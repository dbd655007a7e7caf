#include <deque>
#include <gtest/gtest.h>
#include <memory>
#include <optional>
#include <thread>
#include <vector>

#include <infeed/detail/hand_off.h>

namespace infeed::test {
namespace {

using detail::Failure;
using detail::HandOff;
using detail::WaitPoint;

Failure failure(const std::string& text) {
  return std::make_shared<const Error>(ErrorCode::internal, text);
}

/// The queue of hand_off.h's example.
class Numbers {
 public:
  bool push(int number) {
    auto lock = hand_off_.lock();
    if (!room_.wait(lock, [this] { return numbers_.size() < 8; })) return false;
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
  HandOff& hand_off() { return hand_off_; }
  int waiting_for_room() {
    const auto lock = hand_off_.lock();
    return room_.waiting();
  }

 private:
  HandOff hand_off_;
  WaitPoint filled_{hand_off_};
  WaitPoint room_{hand_off_};
  std::deque<int> numbers_;
};

TEST(HandOff, PassesAllOnInOrder) {
  Numbers numbers;
  std::thread producer([&] {
    for (int i = 0; i < 10'000; ++i) numbers.push(i);
    numbers.hand_off().finish();
  });
  for (int i = 0; i < 10'000; ++i) ASSERT_EQ(numbers.pop(), i);
  EXPECT_EQ(numbers.pop(), std::nullopt);
  EXPECT_EQ(numbers.pop(), std::nullopt);
  producer.join();
}

TEST(HandOff, AFailureComesBehindAllBeforeIt) {
  Numbers numbers;
  numbers.push(1);
  numbers.hand_off().finish(failure("the disk is gone"));
  EXPECT_EQ(numbers.pop(), 1);
  for (int i = 0; i < 2; ++i) {
    try {
      numbers.pop();
      ADD_FAILURE() << "no failure";
    } catch (const Error& error) {
      EXPECT_EQ(error.message(), "the disk is gone");
    }
  }
}

TEST(HandOff, AnAbortComesAtOnceAndTheFirstCounts) {
  Numbers numbers;
  numbers.push(1);
  numbers.hand_off().abort(failure("first"));
  numbers.hand_off().abort(failure("second"));
  for (int i = 0; i < 2; ++i) {
    try {
      numbers.pop();
      ADD_FAILURE() << "no failure";
    } catch (const Error& error) {
      EXPECT_EQ(error.message(), "first");
    }
  }
}

TEST(HandOff, AStopEndsEveryWaitAndCountsForMore) {
  Numbers numbers;
  for (int i = 0; i < 8; ++i) EXPECT_TRUE(numbers.push(i));
  std::vector<std::thread> waiting;
  for (int i = 0; i < 3; ++i) waiting.emplace_back([&] { EXPECT_FALSE(numbers.push(9)); });
  while (numbers.waiting_for_room() < 3) std::this_thread::yield();
  numbers.hand_off().stop();
  for (std::thread& thread : waiting) thread.join();
  numbers.hand_off().abort(failure("late"));
  EXPECT_EQ(numbers.pop(), std::nullopt);
}

}  // namespace
}  // namespace infeed::test
