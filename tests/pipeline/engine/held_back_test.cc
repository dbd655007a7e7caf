#include "engine/recording/held_back.h"

#include <cstdint>
#include <gtest/gtest.h>
#include <optional>

// How long a quota has held a process back, by accounts in which each core counts its own time.
namespace infeed::test {
namespace {

using detail::HeldBack;

void expect_span(const std::optional<HeldBack::Span>& span, std::uint64_t begin_ns,
                 std::uint64_t end_ns) {
  ASSERT_TRUE(span.has_value());
  EXPECT_EQ(span->begin_ns, begin_ns);
  EXPECT_EQ(span->end_ns, end_ns);
}

TEST(HeldBack, BeginsWithTheFirstLook) {
  HeldBack held_back;
  EXPECT_FALSE(held_back.look({.held_back_ns = 5000, .times = 3}, 10'000));
  EXPECT_EQ(held_back.take_sum_ns(), 0U) << "that was before the run";
  EXPECT_FALSE(held_back.look({.held_back_ns = 5000, .times = 3}, 20'000));
  EXPECT_EQ(held_back.take_sum_ns(), 0U);
  expect_span(held_back.look({.held_back_ns = 5001, .times = 4}, 30'000), 29'999, 30'000);
  EXPECT_EQ(held_back.take_sum_ns(), 1U);
  EXPECT_EQ(held_back.take_sum_ns(), 0U) << "it was taken";
}

TEST(HeldBack, IsNoLongerThanTheSumNorThanTheSleep) {
  HeldBack held_back;
  held_back.look({.held_back_ns = 100, .times = 10}, 1000);
  // Two cores, one behind the other or side by side: 300 ns at most.
  expect_span(held_back.look({.held_back_ns = 400, .times = 12}, 2000), 1700, 2000);
  // Four cores side by side, for all of the 500 ns since the last look.
  expect_span(held_back.look({.held_back_ns = 2400, .times = 16}, 2500), 2000, 2500);
  // Two cores for 800 ns each, of which the caller slept 100 ns: its own core came back sooner.
  expect_span(held_back.look({.held_back_ns = 4000, .times = 18}, 2600), 1800, 2600);
  EXPECT_EQ(held_back.take_sum_ns(), 300U + 2000 + 1600);
}

TEST(HeldBack, IsOneTimeIfNoneWasCounted) {
  HeldBack held_back;
  held_back.look({}, 1000);
  expect_span(held_back.look({.held_back_ns = 700, .times = 0}, 1100), 400, 1100);
}

TEST(HeldBack, BeginsNoEarlierThanTheRecording) {
  HeldBack held_back;
  held_back.look({}, 10);
  expect_span(held_back.look({.held_back_ns = 700, .times = 1}, 20), 0, 20);
}

/// A process may be moved to another group, whose account has the past of others.
TEST(HeldBack, BeginsAnewWithOtherAccounts) {
  HeldBack held_back;
  held_back.look({.held_back_ns = 100, .times = 1}, 1000);
  held_back.begin({.held_back_ns = 900'000, .times = 50});
  EXPECT_FALSE(held_back.look({.held_back_ns = 900'000, .times = 50}, 2000));
  expect_span(held_back.look({.held_back_ns = 900'030, .times = 51}, 3000), 2970, 3000);
  EXPECT_EQ(held_back.take_sum_ns(), 30U);
  EXPECT_FALSE(held_back.look({.held_back_ns = 20, .times = 1}, 4000)) << "it was moved back";
  expect_span(held_back.look({.held_back_ns = 25, .times = 2}, 5000), 4995, 5000);
}

}  // namespace
}  // namespace infeed::test
