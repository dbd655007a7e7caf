#include "engine/threads/clock.h"

#include <chrono>
#include <cstdint>
#include <gtest/gtest.h>

namespace infeed::test {
namespace {

using std::chrono::steady_clock;

std::uint64_t ns_between(steady_clock::time_point begin, steady_clock::time_point end) {
  return static_cast<std::uint64_t>(std::chrono::nanoseconds(end - begin).count());
}

/// The ticks lie between two times of the steady clock, and two others lie between the ticks.
TEST(Clock, GoesAsTheSteadyClockDoes) {
  const auto outer_begin = steady_clock::now();
  const std::uint64_t begin_ticks = detail::ticks_now();
  const auto inner_begin = steady_clock::now();
  auto inner_end = inner_begin;
  while (inner_end - inner_begin < std::chrono::milliseconds(5)) inner_end = steady_clock::now();
  const std::uint64_t end_ticks = detail::ticks_now();
  const auto outer_end = steady_clock::now();
  const auto ns = static_cast<double>(detail::ns_of_ticks(end_ticks - begin_ticks));
  EXPECT_GE(ns, 0.99 * static_cast<double>(ns_between(inner_begin, inner_end)));
  EXPECT_LE(ns, 1.01 * static_cast<double>(ns_between(outer_begin, outer_end)));
}

TEST(Clock, ConvertsTimesToTicksAndBack) {
  for (const double us : {1.0, 100.0, 1e6}) {
    const std::uint64_t ticks = detail::ticks_of_us(us);
    EXPECT_NEAR(static_cast<double>(detail::ns_of_ticks(ticks)), 1000 * us, 2) << us;
  }
  EXPECT_EQ(detail::ns_of_ticks(0), 0U);
  EXPECT_EQ(detail::hand_over_ticks(), detail::ticks_of_us(100));
  EXPECT_EQ(detail::ticks_per_ns(), detail::ticks_per_ns()) << "it is measured once";
}

}  // namespace
}  // namespace infeed::test
