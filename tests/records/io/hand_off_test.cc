#include <memory>
#include <optional>
#include <thread>
#include <vector>

#include <infeed/detail/hand_off.h>

#include "records/io/numbers_queue.h"
#include "thrown_error.h"

namespace infeed::test {
namespace {

using detail::Failure;
using detail::HandOff;

Failure failure(const std::string& text) {
  return std::make_shared<const Error>(ErrorCode::internal, text);
}

TEST(HandOff, PassesAllOnInOrder) {
  NumbersQueue numbers(8);
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
  NumbersQueue numbers(8);
  numbers.push(1);
  numbers.hand_off().finish(failure("the disk is gone"));
  EXPECT_EQ(numbers.pop(), 1);
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(error_of([&] { numbers.pop(); }).message(), "the disk is gone");
  }
}

TEST(HandOff, AnAbortComesAtOnceAndTheFirstCounts) {
  NumbersQueue numbers(8);
  numbers.push(1);
  numbers.hand_off().abort(failure("first"));
  numbers.hand_off().abort(failure("second"));
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(error_of([&] { numbers.pop(); }).message(), "first");
  }
}

TEST(HandOff, AStopEndsEveryWaitAndCountsForMore) {
  NumbersQueue numbers(8);
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
