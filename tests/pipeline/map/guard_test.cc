#include <array>
#include <atomic>
#include <chrono>
#include <thread>

#include <infeed/pipeline/map.h>
#include <infeed/pipeline/range.h>

#include "pipeline/suite/consumer.h"
#include "pipeline/suite/stage_suite.h"
#include "thrown_error.h"

namespace infeed::test {
namespace {

using namespace std::chrono_literals;

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
    const auto tries = std::make_shared<Tries>();
    const auto dataset =
        range(kElements) |
        map(flaky(tries), {.parallelism = parallelism,
                           .guard = {.retries = 3, .backoff = 0ms, .backoff_max = 1ms}});
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
  std::atomic<int> calls = 0;
  const auto dataset =
      range(100) | map(
                       [&calls](std::int64_t) -> std::int64_t {
                         ++calls;
                         throw Error(ErrorCode::unavailable, "busy");
                       },
                       {.guard = {.retries = 1, .backoff = 1h, .backoff_max = 1h}});
  Consumer consumer(dataset.iterate());
  while (calls == 0) std::this_thread::yield();
  const auto begin = std::chrono::steady_clock::now();
  consumer.cancel();
  consumer.join();
  EXPECT_LT(std::chrono::steady_clock::now() - begin, 1min);
  EXPECT_EQ(calls, 1);
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

TEST(Retries, RefuseOptionsThatMakeNoSense) {
  const auto refused = [](const GuardOptions& guard) {
    return error_of([&] { range(1) | map([](std::int64_t x) { return x; }, {.guard = guard}); })
        .message();
  };
  EXPECT_EQ(refused({.retries = -1}), "map: retries is -1; give 0 (none) or more");
  EXPECT_EQ(refused({.retries = 1, .backoff = 10ms, .backoff_max = 5ms}),
            "map: backoff is 10ms and backoff_max 5ms; give 0 or more, and at least backoff");
}

TEST(Retries, ChangeNothingWhereNoneIsNeeded) {
  for (const int parallelism : {1, 2}) {
    run_stage_suite_on<std::int64_t>(
        [=](auto dataset) {
          return dataset | map(
                               [](std::int64_t x) {
                                 if (x % 9 == 4) throw std::runtime_error("no nines");
                                 return std::string(30, ' ') + std::to_string(2 * x);
                               },
                               {.parallelism = parallelism, .guard = {.retries = 1}});
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

TEST(Retries, DestroyElementsOnce) {
  const std::int64_t live = Tracked::live;
  for (const int parallelism : {1, 2}) {
    const auto dataset = range(20) |
                         map([](std::int64_t x) { return std::make_shared<Tracked>(x); }) |
                         map(
                             [](const std::shared_ptr<Tracked>& x) {
                               if (x->value() % 3 == 1) throw Error(ErrorCode::unavailable, "busy");
                               return x->value();
                             },
                             {.parallelism = parallelism,
                              .guard = {.retries = 2, .backoff = 0ms, .backoff_max = 0ms}});
    EXPECT_EQ(stream_of(dataset).size(), 20);
  }
  EXPECT_EQ(Tracked::live, live);
}

}  // namespace
}  // namespace infeed::test
