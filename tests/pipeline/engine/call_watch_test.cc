#include "engine/recording/call_watch.h"

#include <chrono>
#include <cstdint>
#include <gtest/gtest.h>
#include <thread>
#include <unistd.h>

#include <infeed/pipeline/range.h>

#include "engine/iterator_context.h"
#include "engine/recording/note_calls.h"
#include "engine/recording/one_by_one.h"
#include "engine/recording/recorder.h"
#include "engine/recording/recording_clock.h"
#include "engine/recording/watched_threads.h"
#include "engine/stage_counters.h"
#include "engine/threads/clock.h"
#include "records/temporary_files.h"

// Calls and waits of a thread that works for an iterator that records. The times of calls are made
// up.
namespace infeed::test {
namespace {

using detail::CallWatch;
using detail::OneByOne;
using detail::OwnTime;
using detail::RecordingClock;
using detail::StageCounters;
using detail::ticks_now;
using detail::ticks_of_us;
using detail::WaitWatch;
using detail::WatchedThread;
using detail::WatchedThreads;

constexpr double kUsOfOneSecond = 1e6;

void expect_time(const OwnTime& time, std::uint64_t begin_ticks, std::uint64_t ticks) {
  EXPECT_EQ(time.begin_ticks, begin_ticks);
  EXPECT_EQ(time.ticks, ticks);
}

/// Waits until so many ticks have passed.
void spin(std::uint64_t ticks) {
  const std::uint64_t begin = ticks_now();
  while (ticks_now() - begin < ticks) {
  }
}

/// Lets so many threads work, one after the other. Returns how many of them have got a slot.
int threads_with_slots(WatchedThreads& threads, int count) {
  int found = 0;
  for (int i = 0; i < count; ++i) {
    std::thread([&] {
      WatchedThread* const slot = threads.this_thread();
      if (slot == nullptr) return;
      ++found;
      ::close(slot->schedstat);  // a process may not have so many
      slot->schedstat = -1;
    }).join();
  }
  return found;
}

class WatchedCalls : public ::testing::Test {
 protected:
  WatchedThread& own() { return *recorder_.threads().this_thread(); }
  void expect_work(const StageCounters* stage, std::uint64_t since_ticks) {
    EXPECT_EQ(own().stage.load(), stage);
    EXPECT_EQ(own().since_ticks.load(), since_ticks);
  }

  const TemporaryFolder folder_;
  const Dataset<std::int64_t> dataset_ = range(3);
  IteratorContext run_{IterateOptions{.recording = {.file = folder_.file("run.profile")}}};
  detail::Recorder& recorder_ = *run_.recorder();
  const StageCounters outer_{};
  const StageCounters inner_{};
};

TEST_F(WatchedCalls, TakeTheTimeOfThoseWithinThemOnce) {
  CallWatch call(&recorder_, outer_, 1000);
  EXPECT_TRUE(call.is_on());
  expect_work(&outer_, 1000);
  {
    CallWatch within(&recorder_, inner_, 1100);
    expect_work(&inner_, 1100);
    {
      CallWatch innermost(&recorder_, outer_, 1150);
      expect_time(innermost.end(1160), 1150, 10);
    }
    expect_work(&inner_, 1160);
    expect_time(within.end(1400), 1100, 290);
    EXPECT_FALSE(within.is_on());
  }
  expect_work(&outer_, 1400);
  expect_time(own().last, 1100, 300);
  EXPECT_EQ(CallWatch(&recorder_, inner_, 1500).end(1600).ticks, 100U);
  expect_time(call.end(2000), 1000, 600);
  expect_work(nullptr, 2000);
  expect_time(recorder_.threads().last_call(), 1000, 1000);
  EXPECT_EQ(own().accounted_ticks, 1000U);
}

TEST_F(WatchedCalls, TakeNoTimeIfAllOfItIsOfOthers) {
  CallWatch call(&recorder_, outer_, 1000);
  own().accounted_ticks += 5000;
  expect_time(call.end(1200), 1000, 0);
  EXPECT_EQ(own().accounted_ticks, 200U);
}

TEST_F(WatchedCalls, EndWithTheirWatch) {
  const std::uint64_t before = ticks_now();
  { const CallWatch call(&recorder_, outer_); }
  EXPECT_GE(own().last.begin_ticks, before);
  EXPECT_LE(own().last.begin_ticks + own().last.ticks, ticks_now());
  EXPECT_EQ(own().stage.load(), nullptr);
}

TEST_F(WatchedCalls, AreNoneIfNobodyRecords) {
  const CallWatch call(nullptr, outer_);
  EXPECT_FALSE(call.is_on());
  EXPECT_FALSE(CallWatch(nullptr, outer_, 1000).is_on());
  { const WaitWatch wait(nullptr); }
  expect_work(nullptr, 0);
}

TEST_F(WatchedCalls, LeaveOutTheWaitsForOtherThreads) {
  const std::uint64_t millisecond = ticks_of_us(1000);
  const std::uint64_t begin = ticks_now();
  CallWatch call(&recorder_, outer_, begin);
  EXPECT_EQ(own().accounted_ticks, 0U);
  {
    const WaitWatch wait(&recorder_);
    expect_work(&outer_, 0);
    spin(millisecond);
  }
  const std::uint64_t behind = ticks_now();
  const std::uint64_t waited = own().accounted_ticks;
  EXPECT_GE(waited, millisecond);
  EXPECT_LE(waited, behind - begin);
  EXPECT_GE(own().since_ticks.load(), begin + millisecond);
  EXPECT_LE(own().since_ticks.load(), behind);
  EXPECT_EQ(own().usage_due_ticks, 0U) << "time off the core then is no part of the next call";
  expect_time(call.end(behind), begin, behind - begin - waited);
}

TEST_F(WatchedCalls, ReadTheirUsageAgainBehindALongWaitOnly) {
  const std::uint64_t quarter = ticks_of_us(2000) / 8;
  own().usage_due_ticks = 5;
  recorder_.threads().note_wait(own(), quarter - 1);
  EXPECT_EQ(own().usage_due_ticks, 5U);
  recorder_.threads().note_wait(own(), quarter);
  EXPECT_EQ(own().usage_due_ticks, 0U);
  // A wait may always lose the core, but not each of a thousand.
  bool stays = false;
  for (int i = 0; i < 1000 && !stays; ++i) {
    own().usage_due_ticks = 5;
    { const WaitWatch wait(&recorder_); }
    stays = own().usage_due_ticks == 5;
  }
  EXPECT_TRUE(stays);
}

TEST_F(WatchedCalls, OfMoreThan1024ThreadsAreNotWatched) {
  WatchedThreads& threads = recorder_.threads();
  EXPECT_EQ(threads_with_slots(threads, 1026), 1024);
  EXPECT_EQ(threads.this_thread(), nullptr);
  EXPECT_EQ(threads.this_thread(ticks_now()), nullptr);
  { const WaitWatch wait(&recorder_); }
  const CallWatch call(&recorder_, outer_);
  EXPECT_FALSE(call.is_on());
  const std::uint64_t before = ticks_now();
  const OwnTime last = threads.last_call();
  EXPECT_GE(last.begin_ticks, before);
  EXPECT_EQ(last.ticks, 0U);
  class NeverAsked final : public Stage {
   public:
    using Stage::Stage;

   protected:
    Pull do_pull(Chunk&, std::size_t) override { return Pull::end; }
    TracedPlace do_trace(std::uint64_t position) const override {
      ADD_FAILURE() << position;
      return Stage::do_trace(position);
    }
  };
  StageCounters counters;
  const NeverAsked input({.run = run_, .counters = &counters, .type = &type_info<std::int64_t>()});
  detail::note_slow_calls(recorder_, counters, {1000, recorder_.clock().slow_ticks()},
                          {.pass = 0, .position = 0, .count = 1}, input);
}

/// Every call was slow: the time in ticks was 0.
TEST(RecordingClock, NoCallIsSlowAfterTheLongestTime) {
  const RecordingClock clock(std::chrono::microseconds::max());
  EXPECT_FALSE(clock.is_slow({0, detail::ticks_of_us(1e9)}));
  EXPECT_GT(clock.ns_of(clock.slow_ticks()), std::uint64_t{1} << 58);
}

TEST(RecordingClock, SaysWhichCallsAreSlowAndWhichAreBrief) {
  const RecordingClock clock(std::chrono::milliseconds(1));
  const std::uint64_t slow = ticks_of_us(1000);
  EXPECT_EQ(clock.slow_ticks(), slow);
  EXPECT_FALSE(clock.is_slow({0, slow - 1}));
  EXPECT_TRUE(clock.is_slow({0, slow}));
  EXPECT_TRUE(clock.is_brief({0, slow / 64 - 1}));
  EXPECT_FALSE(clock.is_brief({0, slow / 64}));
  EXPECT_EQ(RecordingClock(std::chrono::microseconds(1)).slow_ticks(), ticks_of_us(10));
  EXPECT_EQ(RecordingClock(std::chrono::microseconds(11)).slow_ticks(), ticks_of_us(11));
}

TEST(RecordingClock, CountsFromItsBeginning) {
  const std::uint64_t before = ticks_now();
  const auto before_time = std::chrono::steady_clock::now();
  const RecordingClock clock(std::chrono::milliseconds(1));
  EXPECT_EQ(clock.ns_at(before), 0U);
  EXPECT_EQ(clock.ns_at(before_time), 0U);
  EXPECT_NEAR(static_cast<double>(clock.ns_of(ticks_of_us(kUsOfOneSecond))), 1e9, 10);
  const std::uint64_t in_a_second_ns = clock.ns_at(ticks_now() + ticks_of_us(kUsOfOneSecond));
  EXPECT_GE(in_a_second_ns, 999'999'990U);
  EXPECT_LE(in_a_second_ns, clock.ns_now() + 1'000'000'010);
  EXPECT_GE(clock.ns_at(std::chrono::steady_clock::now() + std::chrono::seconds(1)),
            1'000'000'000U);
  const OwnTime time{0, ticks_of_us(kUsOfOneSecond)};
  EXPECT_EQ(clock.ns_of(time, 0), clock.ns_of(time.ticks));
  EXPECT_EQ(clock.ns_of(time, 1), clock.ns_of(time.ticks));
  EXPECT_EQ(clock.ns_of(time, 2), clock.ns_of(time.ticks) / 2);
}

TEST(OneByOne, IsEarnedBySlowBlocks) {
  OneByOne cheap;
  const std::uint64_t cost = ticks_of_us(0.05);
  cheap.note(1000 * ticks_of_us(kUsOfOneSecond), 64, false);
  EXPECT_FALSE(cheap.is_due()) << "nothing was slow yet";
  cheap.note(31, 64, true);
  EXPECT_FALSE(cheap.is_due());
  cheap.note(32 * 2 * cost, 64, true);
  EXPECT_TRUE(cheap.is_due());
  cheap.note(0, 1, false);
  EXPECT_TRUE(cheap.is_due()) << "one of two is paid for";
  cheap.note(0, 2, false);
  EXPECT_TRUE(cheap.is_due()) << "a block of several costs nothing";
  cheap.note(0, 1, false);
  EXPECT_FALSE(cheap.is_due());
  cheap.note(0, 1, false);
  cheap.note(99, 64, false);
  EXPECT_FALSE(cheap.is_due());
  cheap.note(100, 64, false);
  EXPECT_TRUE(cheap.is_due()) << "a hundredth of all time counts from then on";
}

TEST(OneByOne, IsEarnedForNoMoreThanATenthOfASecond) {
  OneByOne cheap;
  cheap.note(1000 * ticks_of_us(kUsOfOneSecond), 64, true);
  const std::uint64_t most = ticks_of_us(100e3);
  const std::uint64_t cost = ticks_of_us(0.05);
  std::uint64_t paid = 0;
  for (; cheap.is_due() && paid < 2 * most / cost; ++paid) cheap.note(0, 1, false);
  EXPECT_EQ(paid, (most + cost - 1) / cost);
}

}  // namespace
}  // namespace infeed::test
