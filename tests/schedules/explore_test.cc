#include "schedules/explore.h"

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <gtest/gtest.h>
#include <mutex>
#include <set>
#include <stdexcept>
#include <stop_token>
#include <string>
#include <thread>

// The scheduler finds the faults of faulty programs, and tries all schedules.
namespace infeed::schedules {
namespace {

/// Looks for a finding, by changes alone.
Finding found_in(const std::function<void()>& body) {
  const Explored explored = explore(body, {.random = 0});
  EXPECT_TRUE(explored.finding) << explored.text();
  return explored.finding.value_or(Finding{});
}

TEST(Explore, TriesAllInterleavingsOnce) {
  // Each of two threads takes the lock twice: of the four times, those of one thread keep their
  // order.
  std::set<std::string> orders;
  const auto body = [&orders] {
    std::mutex mutex;
    std::string order;
    const auto twice = [&](char name) {
      for (int i = 0; i < 2; ++i) {
        const std::lock_guard lock(mutex);
        order += name;
      }
    };
    std::thread other([&] { twice('b'); });
    twice('a');
    other.join();
    orders.insert(order);
  };
  const Explored explored = explore(body);
  EXPECT_TRUE(explored.is_complete) << explored.text();
  EXPECT_EQ(orders.size(), 6U);
}

TEST(Explore, FindsLocksTakenInTwoOrders) {
  const Finding found = found_in([] {
    std::mutex first;
    std::mutex second;
    std::thread other([&] {
      const std::lock_guard one(second);
      const std::lock_guard two(first);
    });
    {
      const std::lock_guard one(first);
      const std::lock_guard two(second);
    }
    other.join();
  });
  EXPECT_NE(found.what.find("nobody can go on"), std::string::npos) << found.what;
  EXPECT_NE(found.what.find("which thread 1 has"), std::string::npos) << found.what;
  EXPECT_EQ(found.changes.size(), 1U) << found.schedule();
}

/// A program that waits only if it looks, without the lock, before the other thread is done.
void wait_without_looking_again() {
  std::mutex mutex;
  std::condition_variable done;
  std::atomic<bool> is_done{false};
  std::thread other([&] {
    is_done = true;
    done.notify_one();
  });
  if (!is_done) {
    std::unique_lock lock(mutex);
    done.wait(lock);
  }
  other.join();
}

TEST(Explore, FindsALostWakeUp) {
  const Finding found = found_in(&wait_without_looking_again);
  EXPECT_NE(found.what.find("nobody can go on"), std::string::npos) << found.what;
}

TEST(Explore, FindsItAtRandomAndShrinksIt) {
  const Explored explored =
      explore(&wait_without_looking_again, {.schedules_max = 1, .random = 100});
  ASSERT_TRUE(explored.finding);
  EXPECT_LE(explored.finding->changes.size(), 2U) << explored.finding->schedule();
}

TEST(Explore, RepeatsWhatItFound) {
  const Finding found = found_in(&wait_without_looking_again);
  EXPECT_FALSE(replay(&wait_without_looking_again, {}, {}).finding);
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(replay(&wait_without_looking_again, found.changes, {}).finding, found.what);
  }
}

TEST(Explore, ChoosesWhoIsWoken) {
  const Finding found = found_in([] {
    std::mutex mutex;
    std::condition_variable changed;
    int waiting = 0;
    int first = 0;
    bool goes = false;
    const auto wait = [&](int number) {
      std::unique_lock lock(mutex);
      ++waiting;
      changed.wait(lock, [&] { return goes; });
      if (first == 0) first = number;
    };
    std::thread one([&] { wait(1); });
    std::thread two([&] { wait(2); });
    while (true) {
      std::this_thread::yield();
      const std::lock_guard lock(mutex);
      goes = waiting == 2;
      if (goes) break;
    }
    changed.notify_one();
    changed.notify_one();
    one.join();
    two.join();
    check(first == 1, "the second one came first");
  });
  EXPECT_EQ(found.what, "the second one came first");
}

TEST(Explore, EndsWaitsForNothing) {
  const auto body = [] {
    std::mutex mutex;
    std::condition_variable changed;
    bool is_ready = false;
    std::thread other([&] {
      const std::lock_guard lock(mutex);
      is_ready = true;
      changed.notify_one();
    });
    {
      std::unique_lock lock(mutex);
      if (!is_ready) changed.wait(lock);
      check(is_ready, "woken for nothing");
    }
    other.join();
  };
  EXPECT_FALSE(explore(body).finding);
  const Explored surprised = explore(body, {.run = {.surprises_max = 1}});
  ASSERT_TRUE(surprised.finding);
  EXPECT_EQ(surprised.finding->what, "woken for nothing");
}

TEST(Explore, LetsTimeRunOutWhenNobodyCanGoOn) {
  const auto body = [] {
    std::mutex mutex;
    std::condition_variable never;
    std::unique_lock lock(mutex);
    const auto begin = std::chrono::steady_clock::now();
    check(never.wait_for(lock, std::chrono::hours(1)) == std::cv_status::timeout, "it was woken");
    check(std::chrono::steady_clock::now() - begin >= std::chrono::hours(1), "the time is another");
  };
  const Explored explored = explore(body);
  EXPECT_FALSE(explored.finding) << explored.finding->what;
  EXPECT_TRUE(explored.is_complete);
  EXPECT_EQ(explored.timeouts, explored.schedules);
}

TEST(Explore, FindsWhatNeverEnds) {
  const Finding endless = found_in([] {
    std::mutex mutex;
    while (true) {
      const std::lock_guard lock(mutex);
    }
  });
  EXPECT_NE(endless.what.find("goes on for more than"), std::string::npos) << endless.what;
  const Finding looks = found_in([] {
    std::mutex mutex;
    std::condition_variable never;
    std::unique_lock lock(mutex);
    while (true) never.wait_for(lock, std::chrono::milliseconds(1));
  });
  EXPECT_NE(looks.what.find("nothing but waits"), std::string::npos) << looks.what;
}

TEST(Explore, FindsWhatIsThrown) {
  const Finding found =
      found_in([] { std::thread([] { throw std::runtime_error("here it is"); }).join(); });
  EXPECT_NE(found.what.find("here it is"), std::string::npos) << found.what;
  const Finding ended = found_in([] { std::thread never_joined([] {}); });
  EXPECT_NE(ended.what.find("terminate"), std::string::npos) << ended.what;
}

TEST(Explore, KeepsWhatAThreadOwns) {
  static thread_local int own = 7;
  expect_no_finding("exceptions and thread_local variables", [] {
    std::mutex mutex;
    const auto work = [&](int number) {
      check(own == 7, "it is as it was");
      own = number;
      try {
        throw number;
      } catch (int caught) {
        { const std::lock_guard lock(mutex); }
        try {
          throw;
        } catch (int again) {
          check(caught == number && again == number && own == number, "another thread's");
        }
      }
    };
    std::thread other([&] { work(2); });
    work(1);
    other.join();
    own = 7;
  });
}

TEST(Explore, KnowsStopTokensAndAtomicWaits) {
  expect_no_finding("a stop token and an atomic", [] {
    std::atomic<int> called{0};
    std::atomic<bool> begins{false};
    std::mutex mutex;
    {
      std::jthread worker([&](const std::stop_token& stop) {
        const std::stop_callback call(stop, [&] {
          const std::lock_guard lock(mutex);
          ++called;
        });
        begins = true;
        begins.notify_one();
        const std::lock_guard lock(mutex);
      });
      begins.wait(false);
    }
    check(called <= 1, "called twice");
  });
}

}  // namespace
}  // namespace infeed::schedules
