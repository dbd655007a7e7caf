#include <chrono>
#include <deque>
#include <set>
#include <stdexcept>
#include <thread>
#include <vector>

#include <infeed/detail/workers.h>

#include "seeded_random.h"
#include "thrown_error.h"

namespace infeed::test {
namespace {

using detail::HandOff;
using detail::WaitPoint;
using detail::Workers;

/// Workers that take numbers out of a queue.
class WorkersTest : public ::testing::Test {
 protected:
  using Lock = Workers<int>::Lock;

  explicit WorkersTest(std::chrono::milliseconds idle_max = std::chrono::minutes(1))
      : workers_{hand_off_,
                 {.claim = [this](std::size_t worker) { return claim(worker); },
                  .has_work = [this] { return !waiting_.empty(); },
                  .run = [this](Lock& lock, int& number) { run(lock, number); },
                  .idle_max = idle_max}} {}
  ~WorkersTest() override { hand_off_.stop(); }

  void want(int count) {
    const Lock lock = hand_off_.lock();
    workers_.set_count(count);
  }
  void add(const Lock&, int number) {
    waiting_.push_back(number);
    workers_.wake_one();
  }
  /// Waits until so many are asleep, and none at work.
  Lock lock_when_asleep(int count) {
    Lock lock = hand_off_.lock();
    while (workers_.asleep() != count || at_work_ != 0) {
      lock.unlock();
      std::this_thread::yield();
      lock.lock();
    }
    return lock;
  }
  void wait_until_done(Lock& lock, std::size_t count) {
    done_changed_.wait(lock, [&] { return done_.size() == count; });
  }

  HandOff hand_off_;
  WaitPoint done_changed_{hand_off_};
  std::deque<int> waiting_;
  std::deque<int> tasks_ = std::deque<int>(64);  ///< current task of each worker
  std::vector<int> done_;
  std::vector<std::size_t> done_by_;
  std::set<std::thread::id> threads_;
  std::size_t threads_awaited_ = 1;  ///< none ends a task before so many have begun one
  int at_work_ = 0;
  Workers<int> workers_;

 private:
  int* claim(std::size_t worker) {
    if (waiting_.empty()) return nullptr;
    tasks_[worker] = waiting_.front();
    waiting_.pop_front();
    ++at_work_;
    done_by_.push_back(worker);
    return &tasks_[worker];
  }
  void run(Lock& lock, int& number) {
    threads_.insert(std::this_thread::get_id());
    const auto until = std::chrono::steady_clock::now() + std::chrono::minutes(1);
    do {
      lock.unlock();
      std::this_thread::yield();
      lock.lock();
    } while (threads_.size() < threads_awaited_ && std::chrono::steady_clock::now() < until);
    --at_work_;
    if (number < 0) throw std::runtime_error("a negative number");
    done_.push_back(number);
    done_changed_.wake_all();
  }
};

TEST_F(WorkersTest, DoAllThatThereIs) {
  Lock lock = hand_off_.lock();
  EXPECT_EQ(workers_.set_count(3), 3);
  for (int i = 0; i < 1000; ++i) waiting_.push_back(i);
  workers_.wake_one();
  wait_until_done(lock, 1000);
  std::sort(done_.begin(), done_.end());
  for (int i = 0; i < 1000; ++i) EXPECT_EQ(done_[static_cast<std::size_t>(i)], i);
  EXPECT_LE(threads_.size(), 3);
}

TEST_F(WorkersTest, TheLastToFallAsleepComesFirst) {
  want(3);
  Lock lock = lock_when_asleep(3);
  add(lock, 1);
  wait_until_done(lock, 1);
  lock.unlock();
  for (int i = 0; i < 20; ++i) {
    lock = lock_when_asleep(3);
    add(lock, i);
    wait_until_done(lock, done_.size() + 1);
    lock.unlock();
  }
  EXPECT_EQ(std::set<std::size_t>(done_by_.begin(), done_by_.end()).size(), 1)
      << "its core's cache is warm";
}

TEST_F(WorkersTest, OneThatIsOnItsWayDoesForAllThatIsFoundMeanwhile) {
  want(3);
  Lock lock = lock_when_asleep(3);
  add(lock, 1);
  EXPECT_EQ(workers_.asleep(), 2);
  add(lock, 2);
  EXPECT_EQ(workers_.asleep(), 2) << "it wakes the next one itself, if it needs one";
  wait_until_done(lock, 2);
}

TEST_F(WorkersTest, OneThatEndsHandsItsWakeUpOn) {
  want(2);
  for (int i = 0; i < 50; ++i) {
    Lock lock = lock_when_asleep(2);
    add(lock, i);           // one of them is on its way,
    workers_.set_count(1);  // and it may be the one that is to end
    wait_until_done(lock, static_cast<std::size_t>(i) + 1);
    workers_.set_count(2);
  }
}

TEST_F(WorkersTest, WhatOneThrowsAbortsTheHandOff) {
  Lock lock = hand_off_.lock();
  workers_.set_count(2);
  add(lock, -1);
  EXPECT_EQ(error_of([&] { done_changed_.wait(lock, [] { return false; }); }).message(),
            "a negative number");
}

// A thread that began looked itself up in the list that grew meanwhile; ThreadSanitizer and
// AddressSanitizer see it.
TEST_F(WorkersTest, TheirNumberGrowsWhileTheFirstBegin) {
  for (int count = 1; count <= 64; count *= 2) {
    const Lock lock = hand_off_.lock();
    EXPECT_EQ(workers_.set_count(count), count);
  }
  EXPECT_TRUE(lock_when_asleep(64).owns_lock());
}

TEST_F(WorkersTest, NothingIsLeftBehindWhileTheirNumberChanges) {
  SeededRandom random;
  std::size_t added = 0;
  want(1);
  for (int round = 0; round < 300; ++round) {
    Lock lock = hand_off_.lock();
    for (std::size_t i = random.below(4); i > 0; --i) add(lock, static_cast<int>(added++));
    workers_.set_count(1 + static_cast<int>(random.below(5)));
    if (random.below(3) == 0) wait_until_done(lock, added);
  }
  Lock lock = hand_off_.lock();
  wait_until_done(lock, added);
}

/// Workers that end at once if there is nothing to do.
class IdleWorkersTest : public WorkersTest {
 protected:
  IdleWorkersTest() : WorkersTest(std::chrono::milliseconds(1)) {}

  Lock lock_when_gone() {
    Lock lock = hand_off_.lock();
    while (workers_.running() != 0) {
      lock.unlock();
      std::this_thread::yield();
      lock.lock();
    }
    return lock;
  }
};

TEST_F(IdleWorkersTest, EndAndComeAgain) {
  want(3);
  for (std::size_t round = 1; round <= 20; ++round) {
    Lock lock = lock_when_gone();
    EXPECT_EQ(workers_.count(), 3) << "it is what was asked for";
    add(lock, static_cast<int>(round));
    EXPECT_EQ(workers_.running(), 1);
    wait_until_done(lock, round);
  }
}

TEST_F(IdleWorkersTest, AllComeIfThereIsWorkForAll) {
  want(3);
  Lock lock = lock_when_gone();
  threads_awaited_ = 3;
  for (int i = 0; i < 3; ++i) add(lock, i);
  wait_until_done(lock, 3);
  EXPECT_EQ(threads_.size(), 3);
}

TEST_F(IdleWorkersTest, FewerAndMoreAreWantedWhileTheyAreGone) {
  want(3);
  Lock lock = lock_when_gone();
  workers_.set_count(1);
  add(lock, 1);
  wait_until_done(lock, 1);
  lock.unlock();
  lock = lock_when_gone();
  workers_.set_count(0);
  add(lock, 2);
  EXPECT_EQ(workers_.running(), 0);
  workers_.set_count(2);
  workers_.wake_one();
  wait_until_done(lock, 2);
}

}  // namespace
}  // namespace infeed::test
