#include <array>
#include <condition_variable>
#include <gmock/gmock.h>
#include <mutex>

#include <infeed/pipeline/map.h>
#include <infeed/pipeline/range.h>

#include "pipeline/suite/stage_suite.h"
#include "thrown_error.h"

namespace infeed::test {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;

/// Something that calls wait for until the test opens it; shared with threads left to themselves.
class Latch {
 public:
  void open() {
    const std::lock_guard lock(mutex_);
    open_ = true;
    changed_.notify_all();
  }
  void wait() {
    std::unique_lock lock(mutex_);
    ++waiting_;
    changed_.notify_all();
    changed_.wait(lock, [this] { return open_; });
    --waiting_;
    changed_.notify_all();
  }
  void wait_for_waiting(int count) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return waiting_ == count; });
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool open_ = false;
  int waiting_ = 0;
};

constexpr std::int64_t kElements = 40;
using Tries = std::array<std::atomic<int>, kElements>;

/// Element x fails x % 5 times before it succeeds; x = 7 fails for good with another code.
auto flaky(const std::shared_ptr<Tries>& tries) {
  return [tries](std::int64_t x) {
    const int before = (*tries)[static_cast<std::size_t>(x)]++;
    if (x == 7) throw Error(ErrorCode::not_found, "no 7");
    if (before < x % 5) {
      throw Error(ErrorCode::unavailable, "busy").at_file("far away").at_record(3);
    }
    return x;
  };
}

TEST(Retries, TryAgainWhatIsTransient) {
  for (const int parallelism : {1, 3}) {
    for (const auto limit : {0ms, 10'000ms}) {
      const auto tries = std::make_shared<Tries>();
      const auto dataset =
          range(kElements) |
          map(flaky(tries),
              {.parallelism = parallelism,
               .guard = {.retries = 3, .backoff = 0ms, .backoff_max = 1ms, .time_limit = limit}});
      const Stream stream = stream_of(dataset);
      ASSERT_EQ(stream.size(), kElements);
      for (std::int64_t x = 0; x < kElements; ++x) {
        SCOPED_TRACE(x);
        const std::string& text = stream[static_cast<std::size_t>(x)];
        const int tried = (*tries)[static_cast<std::size_t>(x)];
        if (x == 7) {
          EXPECT_EQ(text, "! no 7");
          EXPECT_EQ(tried, 1) << "not transient";
        } else if (x % 5 == 4) {
          EXPECT_EQ(text, "! busy (tried 4 times)");
          EXPECT_EQ(tried, 4);
        } else {
          EXPECT_EQ(text, std::to_string(x));
          EXPECT_EQ(tried, x % 5 + 1);
        }
      }
    }
  }
}

TEST(Retries, KeepThePlaceOfTheError) {
  Iterator<std::int64_t> iterator =
      (range(1) |
       map(
           [](std::int64_t) -> std::int64_t {
             throw Error(ErrorCode::unavailable, "busy").at_file("far away").at_record(3);
           },
           {.guard = {.retries = 1, .backoff = 0ms}}))
          .iterate();
  const Error error = error_of([&] { iterator.next(); });
  EXPECT_EQ(error.code(), ErrorCode::unavailable);
  EXPECT_EQ(error.file(), "far away");
  EXPECT_EQ(error.record(), 3);
}

TEST(Retries, WaitLongerEachTime) {
  std::vector<std::chrono::steady_clock::time_point> calls;
  const auto dataset =
      range(1) | map(
                     [&calls](std::int64_t) -> std::int64_t {
                       calls.push_back(std::chrono::steady_clock::now());
                       throw Error(ErrorCode::unavailable, "busy");
                     },
                     {.guard = {.retries = 4, .backoff = 2ms, .backoff_max = 5ms}});
  stream_of(dataset);
  ASSERT_EQ(calls.size(), 5);
  EXPECT_GE(calls[1] - calls[0], 2ms);
  EXPECT_GE(calls[2] - calls[1], 4ms);
  EXPECT_GE(calls[3] - calls[2], 5ms);
  EXPECT_GE(calls[4] - calls[3], 5ms);
}

TEST(Retries, AreEndedByACancellation) {
  for (const auto limit : {0ms, 1'000'000ms}) {
    const auto busy = std::make_shared<Latch>();
    busy->open();
    std::atomic<int> calls = 0;
    const auto dataset =
        range(100) |
        map(
            [&calls](std::int64_t) -> std::int64_t {
              ++calls;
              throw Error(ErrorCode::unavailable, "busy");
            },
            {.guard = {.retries = 1, .backoff = 1h, .backoff_max = 1h, .time_limit = limit}});
    Consumer<std::int64_t> consumer(dataset.iterate());
    while (calls == 0) std::this_thread::yield();
    const auto begin = std::chrono::steady_clock::now();
    consumer.cancel();
    consumer.join();
    EXPECT_LT(std::chrono::steady_clock::now() - begin, 5s);
    EXPECT_EQ(calls, 1);
  }
}

TEST(Retries, NeedElementsThatCanBeCopied) {
  const auto pointers =
      range(1) | map([](std::int64_t x) { return std::make_unique<std::int64_t>(x); });
  const Error error = error_of([&] {
    pointers |
        map([](const std::unique_ptr<std::int64_t>& x) { return *x; }, {.guard = {.retries = 1}});
  });
  EXPECT_EQ(error.code(), ErrorCode::invalid_argument);
  EXPECT_THAT(error.message(), HasSubstr("can't be copied; pass it in a std::shared_ptr"));
}

TEST(Guard, RefusesOptionsThatMakeNoSense) {
  const auto refused = [](const GuardOptions& guard) {
    return error_of([&] { range(1) | map([](std::int64_t x) { return x; }, {.guard = guard}); })
        .message();
  };
  EXPECT_EQ(refused({.retries = -1}), "map: retries is -1; give 0 (none) or more");
  EXPECT_EQ(refused({.time_limit = -5ms}), "map: time_limit is -5ms; give 0 (none) or more");
  EXPECT_EQ(refused({.retries = 1, .backoff = 10ms, .backoff_max = 5ms}),
            "map: backoff is 10ms and backoff_max 5ms; give 0 or more, and at least backoff");
}

TEST(TimeLimit, ChangesNothingForThoseWhoKeepIt) {
  for (const int parallelism : {1, 2}) {
    run_stage_suite_on<std::int64_t>(
        [=](auto dataset) {
          return dataset | map(
                               [](std::int64_t x) {
                                 if (x % 9 == 4) throw std::runtime_error("no nines");
                                 return std::string(30, ' ') + std::to_string(2 * x);
                               },
                               {.parallelism = parallelism, .guard = {.time_limit = 100s}});
        },
        [](const Slots& in) {
          Stream stream;
          for (const Slot& slot : in) {
            stream.push_back(slot.fails            ? show(slot)
                             : slot.value % 9 == 4 ? "! no nines"
                                                   : std::to_string(2 * slot.value));
          }
          return stream;
        },
        {.sizes = {0, 1, 5, 33}});
  }
}

TEST(TimeLimit, WhatTakesTooLongIsAnErrorInItsPlace) {
  for (const int parallelism : {1, 3}) {
    const auto latch = std::make_shared<Latch>();
    {
      const auto dataset =
          range(10) | map(
                          [latch](std::int64_t x) {
                            if (x % 5 == 3) latch->wait();
                            return x;
                          },
                          {.parallelism = parallelism, .guard = {.time_limit = 30ms}});
      Iterator<std::int64_t> iterator = dataset.iterate();
      Stream stream = take_stream(iterator);
      ASSERT_EQ(stream.size(), 10);
      for (const std::size_t late : {std::size_t{3}, std::size_t{8}}) {
        EXPECT_THAT(stream[late], HasSubstr("longer than its time limit of 30ms; its thread is "
                                            "left to finish"));
        stream[late] = std::to_string(late);
      }
      EXPECT_EQ(stream, stream_of(range(10)));
    }
    latch->wait_for_waiting(2);  // they outlive the pipeline ...
    latch->open();
    latch->wait_for_waiting(0);  // ... and end
  }
}

// The thread of the call has given its last result and not yet said that it is done: the run is
// often found cancelled just then.
TEST(TimeLimit, ACancellationBehindTheLastElementUsesUpNoMore) {
  const std::int64_t live = Tracked::live;
  for (int round = 0; round < 1000; ++round) {
    std::atomic<Iterator<Tracked>*> to_cancel = nullptr;
    std::atomic<bool> cancelled = false;
    const auto cancel_at_the_end = [&](Tracked x) {
      if (x.value() == 1) {
        to_cancel.load()->cancel();
        cancelled = true;
      }
      return x;
    };
    const auto dataset =
        listed<Tracked>(plain_slots(2)) | map(cancel_at_the_end, {.guard = {.time_limit = 100s}});
    Iterator<Tracked> iterator = dataset.iterate();
    to_cancel = &iterator;
    EXPECT_EQ(error_of([&] { take_stream(iterator); }).code(), ErrorCode::cancelled);
    while (!cancelled) std::this_thread::yield();
  }
  while (Tracked::live != live) std::this_thread::yield();
}

TEST(TimeLimit, TooManyCallsLeftToThemselvesAreRefused) {
  const auto latch = std::make_shared<Latch>();
  const auto dataset = range(70) | map(
                                       [latch](std::int64_t x) {
                                         latch->wait();
                                         return x;
                                       },
                                       {.guard = {.time_limit = 1ms}});
  const Stream stream = stream_of(dataset);
  ASSERT_EQ(stream.size(), 70);
  EXPECT_THAT(stream[63], HasSubstr("(64 such calls are still running)"));
  for (std::size_t i = 64; i < 70; ++i) {
    EXPECT_THAT(stream[i], HasSubstr("! 64 calls of the function of map that took longer"));
  }
  latch->open();
  latch->wait_for_waiting(0);
}

TEST(TimeLimit, IsNoticedAfterwardsWithoutThreads) {
  const auto dataset =
      range(3) | map(
                     [](std::int64_t x) {
                       const auto begin = std::chrono::steady_clock::now();
                       while (x == 1 && std::chrono::steady_clock::now() - begin < 3ms) {
                       }
                       return std::to_string(x);
                     },
                     {.guard = {.time_limit = 2ms}});
  const Stream stream = stream_of(dataset, {.executor = Executor::inline_()});
  EXPECT_EQ(stream,
            (Stream{"0", "! the function of map took longer than its time limit of 2ms", "2"}));
}

TEST(TimeLimit, ElementsAreDestroyedOnce) {
  const std::int64_t live = Tracked::live;
  const auto latch = std::make_shared<Latch>();
  {
    const auto dataset =
        listed<Tracked>(plain_slots(20)) | map(
                                               [latch](Tracked x) {
                                                 if (x.value() == 5) latch->wait();
                                                 return Tracked(x.value());
                                               },
                                               {.parallelism = 2, .guard = {.time_limit = 20ms}});
    EXPECT_EQ(stream_of(dataset).size(), 20);
  }
  EXPECT_EQ(Tracked::live, live + 2) << "the element, and the parameter that it was moved to";
  latch->open();
  while (Tracked::live != live) std::this_thread::yield();
}

}  // namespace
}  // namespace infeed::test
