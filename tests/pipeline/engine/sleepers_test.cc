#include "engine/threads/sleepers.h"

#include <gtest/gtest.h>
#include <thread>
#include <utility>

#include <infeed/detail/hand_off.h>

namespace infeed::test {
namespace {

using detail::HandOff;
using detail::Sleepers;

/// Threads that sleep until there is something for them.
class SleepersTest : public ::testing::Test {
 protected:
  std::thread sleeper() {
    return std::thread([this] {
      auto lock = hand_off_.lock();
      while (things_ == 0) idle_.sleep(lock);
      --things_;
    });
  }
  /// The lock, once so many are asleep.
  std::unique_lock<std::mutex> lock_when_asleep(int count) {
    auto lock = hand_off_.lock();
    while (idle_.asleep() != count) {
      lock.unlock();
      std::this_thread::yield();
      lock.lock();
    }
    return lock;
  }

  /// Two that are on their way, and find something, come.
  void expect_both_come(std::unique_lock<std::mutex> lock, std::thread& first,
                        std::thread& second) {
    EXPECT_EQ(idle_.asleep(), 0);
    EXPECT_EQ(idle_.on_their_way(), 2);
    lock.unlock();
    first.join();
    second.join();
    EXPECT_EQ(idle_.on_their_way(), 0);
  }

  HandOff hand_off_;
  Sleepers idle_{hand_off_};
  int things_ = 0;
};

TEST_F(SleepersTest, OneThatIsOnItsWayIsNotAsleep) {
  std::thread first = sleeper();
  std::thread second = sleeper();
  auto lock = lock_when_asleep(2);
  EXPECT_EQ(idle_.on_their_way(), 0);
  idle_.wake_one();
  EXPECT_EQ(idle_.asleep(), 1);
  EXPECT_EQ(idle_.on_their_way(), 1);
  things_ = 2;
  idle_.wake_one();
  expect_both_come(std::move(lock), first, second);
}

TEST_F(SleepersTest, AllAreOnTheirWay) {
  std::thread first = sleeper();
  std::thread second = sleeper();
  auto lock = lock_when_asleep(2);
  things_ = 2;
  idle_.wake_all();
  expect_both_come(std::move(lock), first, second);
}

TEST_F(SleepersTest, OneThatComesForNothingSleepsAgain) {
  std::thread only = sleeper();
  auto lock = lock_when_asleep(1);
  idle_.wake_one();
  lock.unlock();
  lock = lock_when_asleep(1);
  EXPECT_EQ(idle_.on_their_way(), 0);
  things_ = 1;
  idle_.wake_one();
  lock.unlock();
  only.join();
}

}  // namespace
}  // namespace infeed::test
