#include <algorithm>
#include <gtest/gtest.h>
#include <mutex>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include <infeed/detail/hand_off.h>
#include <infeed/detail/workers.h>

#include "schedules/explore.h"

namespace infeed::schedules {
namespace {

using detail::HandOff;
using detail::WaitPoint;
using detail::Workers;

/// Pieces of work that workers do, and the threads that wait for them.
class Pieces {
 public:
  explicit Pieces(int workers) : done_by_(8) {
    const auto lock = hand_off_.lock();
    workers_.set_count(workers);
  }
  ~Pieces() { hand_off_.stop(); }

  void add(int count) {
    const auto lock = hand_off_.lock();
    for (int i = 0; i < count; ++i) {
      ++left_;
      workers_.wake_one();
    }
  }
  void set_count(int count) {
    const auto lock = hand_off_.lock();
    if (!hand_off_.stopped()) workers_.set_count(count);
  }
  void stop() { hand_off_.stop(); }
  /// The next piece that is done throws.
  void break_one() {
    const auto lock = hand_off_.lock();
    breaks_ = true;
  }
  /// Waits until so many have been done. Returns false when stopped.
  bool wait_for(int count) {
    auto lock = hand_off_.lock();
    return done_point_.wait(lock, [&] { return done_ == count; });
  }

 private:
  int* claim(std::size_t worker) {
    if (left_ == 0) return nullptr;
    --left_;
    return &done_by_[worker];
  }
  void run(std::unique_lock<std::mutex>& lock, int& done_by) {
    lock.unlock();
    lock.lock();
    if (breaks_) throw std::runtime_error("broken");
    ++done_by;
    ++done_;
    done_point_.wake_one();
  }

  HandOff hand_off_;
  WaitPoint done_point_{hand_off_};
  int left_ = 0;
  int done_ = 0;
  bool breaks_ = false;
  std::vector<int> done_by_;
  Workers<int> workers_{hand_off_,
                        {.claim = [this](std::size_t worker) { return claim(worker); },
                         .has_work = [this] { return left_ > 0; },
                         .run = [this](auto& lock, int& done_by) { run(lock, done_by); }}};
};

ExploreOptions many() {
  return {.schedules_max = 12'000, .random = 2'000, .run = {.locks_guard_all = true}};
}

/// Lets waits end by their time while others run: workers then end for lack of work.
ExploreOptions with_idle_ends() {
  ExploreOptions options = many();
  options.run.surprises_max = 2;
  return options;
}

struct Changes {
  const char* what;
  ExploreOptions options;
  int workers;
  std::vector<int> counts;  ///< that another thread sets meanwhile
  bool then_another;        ///< a third piece comes behind the first two
};

TEST(WorkersSchedules, WorkIsDone) {
  for (const Changes& changes :
       {Changes{"fewer workers", many(), 3, {1}, false},
        Changes{"fewer and more workers", many(), 2, {1, 2, 1}, true},
        Changes{"no workers for a while", many(), 1, {0, 2}, false},
        Changes{"workers that end for lack of work", with_idle_ends(), 2, {}, true},
        Changes{"fewer and more workers, which end for lack of work",
                with_idle_ends(),
                2,
                {1, 2},
                true}}) {
    expect_no_finding(changes.what, changes.options, [&] {
      Pieces pieces(changes.workers);
      std::thread tuner;
      if (!changes.counts.empty()) {
        tuner = std::thread([&] {
          std::ranges::for_each(changes.counts, [&](int count) { pieces.set_count(count); });
        });
      }
      pieces.add(1);
      pieces.add(1);
      check(pieces.wait_for(2), "both are done");
      if (changes.then_another) pieces.add(1);
      if (changes.then_another) check(pieces.wait_for(3), "and another one");
      if (tuner.joinable()) tuner.join();
    });
  }
}

TEST(WorkersSchedules, IdleOnesEndWhileTheyAreStopped) {
  expect_no_finding("a stop while workers end for lack of work", with_idle_ends(), [] {
    Pieces pieces(2);
    std::thread other([&] { pieces.stop(); });
    pieces.add(1);
    pieces.wait_for(1);
    other.join();
  });
}

TEST(WorkersSchedules, EndWhenTheyAreStopped) {
  expect_no_finding("a stop at any moment", many(), [] {
    Pieces pieces(2);
    std::thread other([&] { pieces.stop(); });
    std::thread tuner([&] { pieces.set_count(3); });
    pieces.add(2);
    pieces.wait_for(2);
    other.join();
    tuner.join();
  });
}

TEST(WorkersSchedules, WhatOneThrowsReachesWhoWaits) {
  expect_no_finding("a failure at any moment", many(), [] {
    Pieces pieces(2);
    std::thread other([&] { pieces.break_one(); });
    std::string what = "done";
    pieces.add(2);
    try {
      pieces.wait_for(2);
    } catch (const Error& error) {
      what = error.message();
    }
    check(what == "done" || what == "broken", what);
    other.join();
  });
}

/// Workers as they once were: a leaving worker keeps the wake-up that reached it.
class ForgetfulWorkers {
 public:
  explicit ForgetfulWorkers(int workers) : count_(workers) {
    for (int i = 0; i < workers; ++i) threads_.emplace_back([this, i] { work(i); });
  }
  ~ForgetfulWorkers() {
    hand_off_.stop();
    for (std::thread& thread : threads_) thread.join();
  }

  void add() {
    const auto lock = hand_off_.lock();
    ++left_;
    wake_worker();
  }
  void set_count(int count) {
    const auto lock = hand_off_.lock();
    count_ = count;
    on_their_way_ = idle_.waiting();
    idle_.wake_all();
  }
  void wait_for(int count) {
    auto lock = hand_off_.lock();
    done_point_.wait(lock, [&] { return done_ == count; });
  }

 private:
  void work(int number) {
    auto lock = hand_off_.lock();
    while (!hand_off_.stopped() && number < count_) {
      if (left_ == 0) {
        idle_.wait_once(lock);
        if (on_their_way_ > 0) --on_their_way_;
        continue;
      }
      --left_;
      if (left_ > 0) wake_worker();
      ++done_;
      done_point_.wake_one();
    }
  }
  void wake_worker() {
    if (idle_.waiting() == 0 || on_their_way_ > 0) return;
    ++on_their_way_;
    idle_.wake_one();
  }

  HandOff hand_off_;
  WaitPoint idle_{hand_off_};
  WaitPoint done_point_{hand_off_};
  int count_;
  int left_ = 0;
  int done_ = 0;
  int on_their_way_ = 0;
  std::vector<std::thread> threads_;
};

void do_pieces_with_fewer() {
  ForgetfulWorkers pieces(3);
  std::thread tuner([&] { pieces.set_count(1); });
  pieces.add();
  pieces.add();
  pieces.wait_for(2);
  tuner.join();
}

TEST(WorkersSchedules, ALostWakeUpIsFound) {
  const Explored explored = explore(do_pieces_with_fewer);
  ASSERT_TRUE(explored.finding) << explored.text();
  EXPECT_NE(explored.finding->what.find("nobody can go on"), std::string::npos)
      << explored.finding->what;
  const Explored at_random = explore(do_pieces_with_fewer, {.schedules_max = 1, .random = 20'000});
  EXPECT_TRUE(at_random.finding) << at_random.text();
}

}  // namespace
}  // namespace infeed::schedules
