#include <gtest/gtest.h>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <infeed/detail/hand_off.h>

#include "records/io/numbers_queue.h"
#include "schedules/explore.h"

namespace infeed::schedules {
namespace {

using test::NumbersQueue;

detail::Failure failure(const std::string& text) {
  return std::make_shared<const Error>(ErrorCode::data_loss, text);
}

/// Many schedules, for programs that share nothing without a lock.
ExploreOptions many(std::uint64_t surprises_max = 0) {
  return {.schedules_max = 12'000,
          .random = 2'000,
          .run = {.surprises_max = surprises_max, .locks_guard_all = true}};
}

/// The numbers that a consumer got, and the message of the error behind them.
struct Got {
  std::vector<int> numbers;
  std::string error;
};

Got all_of(NumbersQueue& queue) {
  Got got;
  try {
    while (const auto number = queue.pop()) got.numbers.push_back(*number);
  } catch (const Error& error) {
    got.error = error.message();
  }
  return got;
}

/// Pushes first, first + 1 and so on while they are wanted. Returns false if it ends before all.
bool push_some(NumbersQueue& queue, int first, int count) {
  try {
    for (int number = first; number < first + count; ++number) {
      if (!queue.push(number)) return false;
    }
  } catch (const Error&) {
    return false;
  }
  return true;
}

bool are_first(const std::vector<int>& numbers) {
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    if (numbers[i] != static_cast<int>(i)) return false;
  }
  return true;
}

TEST(HandOffSchedules, FinishComesBehindAll) {
  expect_no_finding("finish", many(), [] {
    NumbersQueue queue(1);
    std::thread producer([&] {
      push_some(queue, 0, 3);
      queue.hand_off().finish(failure("the end"));
    });
    const Got got = all_of(queue);
    check(got.numbers == std::vector{0, 1, 2} && got.error == "the end", "all, then the failure");
    producer.join();
  });
}

TEST(HandOffSchedules, SeveralOnBothSides) {
  expect_no_finding("two producers and two consumers", many(), [] {
    NumbersQueue queue(1);
    std::thread first([&] { push_some(queue, 0, 2); });
    std::thread second([&] { push_some(queue, 2, 2); });
    Got there;
    std::thread consumer([&] { there = all_of(queue); });
    std::thread end([&] {
      first.join();
      second.join();
      queue.hand_off().finish();
    });
    const Got here = all_of(queue);
    consumer.join();
    end.join();
    check(here.numbers.size() + there.numbers.size() == 4, "each number once");
  });
}

TEST(HandOffSchedules, StopAtAnyMoment) {
  expect_no_finding("stop", many(), [] {
    NumbersQueue queue(1);
    std::thread producer([&] {
      if (push_some(queue, 0, 3)) queue.hand_off().finish(failure("the end"));
    });
    std::thread stopper([&] { queue.hand_off().stop(); });
    const Got got = all_of(queue);
    check(are_first(got.numbers), "in order");
    check(got.numbers.size() == 3 || got.error.empty(), "the failure comes last");
    producer.join();
    stopper.join();
    check(!queue.push(9) && !queue.pop(), "it stays stopped");
  });
}

TEST(HandOffSchedules, AbortAtAnyMoment) {
  expect_no_finding("abort", many(), [] {
    NumbersQueue queue(1);
    std::thread producer([&] {
      if (push_some(queue, 0, 3)) queue.hand_off().finish();
    });
    std::thread breaker([&] { queue.hand_off().abort(failure("broken")); });
    const Got got = all_of(queue);
    check(are_first(got.numbers), "in order");
    check(got.numbers.size() == 3 || !got.error.empty(), "no end without an error");
    producer.join();
    breaker.join();
    check(!all_of(queue).error.empty(), "it stays aborted");
  });
}

TEST(HandOffSchedules, WaitsThatEndForNothing) {
  expect_no_finding("woken for nothing", many(2), [] {
    NumbersQueue queue(1);
    std::thread producer([&] {
      push_some(queue, 0, 3);
      queue.hand_off().finish();
    });
    check(all_of(queue).numbers == std::vector{0, 1, 2}, "all, in order");
    producer.join();
  });
}

}  // namespace
}  // namespace infeed::schedules
