#include "engine/statistics/pull_sample.h"

#include <chrono>
#include <cstdint>
#include <gtest/gtest.h>
#include <time.h>

#include <infeed/pipeline/chunk.h>

#include "engine/stage_counters.h"
#include "engine/threads/clock.h"
#include "pipeline/suite/busy.h"

// The pulls that are measured: how often, and what counts as a stage's own time.
namespace infeed::test {
namespace {

using detail::PullSample;
using detail::SampleStride;
using detail::SamplingThread;
using detail::StageCounters;
using detail::thread_cpu_ns;
using detail::ticks_now;
using detail::ticks_of_us;

TEST(PullSample, CountsForUpTo16PullsAndForAllWithinIt) {
  Chunk chunk(type_info<std::int64_t>(), 8);
  for (const std::int64_t i : {1, 2, 3}) chunk.append(std::int64_t{i});
  StageCounters outer;
  StageCounters inner;
  SampleStride outer_stride{.length = 100, .left = 2};
  SampleStride inner_stride{.length = 1, .left = 1};
  EXPECT_FALSE(PullSample(outer, outer_stride).is_taken());
  EXPECT_EQ(outer_stride.left, 1U);
  const std::uint64_t begin_cpu_ns = thread_cpu_ns();
  const std::uint64_t begin_ticks = ticks_now();
  {
    const PullSample sample(outer, outer_stride);
    ASSERT_TRUE(sample.is_taken());
    PullSample within(inner, inner_stride);
    EXPECT_TRUE(within.is_taken());
    compute_for(std::chrono::milliseconds(1));
    within.note_elements(chunk);
  }
  EXPECT_EQ(inner.sampled.elements, 16U * 3);
  EXPECT_EQ(inner.sampled.bytes, 16U * 3 * sizeof(std::int64_t));
  EXPECT_EQ(inner_stride.left, 1U) << "no pull of the thread began with it";
  EXPECT_EQ(outer.sampled.elements, 0U);
  EXPECT_NE(outer_stride.left, 0U);
  EXPECT_EQ(outer_stride.left, outer_stride.length);
  const std::uint64_t ticks = ticks_now() - begin_ticks;
  const std::uint64_t cpu_ns = thread_cpu_ns() - begin_cpu_ns;
  for (const StageCounters* const counters : {&outer, &inner}) {
    const std::uint64_t sampled_ticks = counters->pull_time.sampled_ticks;
    EXPECT_EQ(sampled_ticks % 16, 0U);
    EXPECT_GE(sampled_ticks, 16 * ticks_of_us(900));
    EXPECT_LE(sampled_ticks, 16 * ticks);
    EXPECT_GE(counters->pull_time.sampled_cpu_ns, 16U * 900'000);
    EXPECT_LE(counters->pull_time.sampled_cpu_ns, 16 * cpu_ns);
  }
  EXPECT_GE(outer.pull_time.sampled_ticks, inner.pull_time.sampled_ticks);
  EXPECT_FALSE(PullSample(outer, outer_stride).is_taken()) << "it was the only one";
}

/// The time of samples within a pull is no time of its stage.
TEST(PullSample, LeavesOutWhatSamplesWithinItTook) {
  SamplingThread& thread = detail::sampling_thread;
  thread.overhead_ticks += ticks_of_us(1e12);  // samples before it took that
  thread.overhead_cpu_ns += 1'000'000'000'000;
  const std::uint64_t overhead_ticks = thread.overhead_ticks;
  const std::uint64_t overhead_cpu_ns = thread.overhead_cpu_ns;
  const std::uint64_t within_ticks = ticks_of_us(500);
  constexpr std::uint64_t kWithinNs = 500'000;
  StageCounters counters;
  SampleStride stride;
  const std::uint64_t begin_cpu_ns = thread_cpu_ns();
  const std::uint64_t begin_ticks = ticks_now();
  {
    const PullSample sample(counters, stride);
    compute_for(std::chrono::milliseconds(2));
    thread.overhead_ticks += within_ticks;
    thread.overhead_cpu_ns += kWithinNs;
    EXPECT_EQ(sample.overhead_ticks(), within_ticks);
  }
  const std::uint64_t ticks = ticks_now() - begin_ticks;
  const std::uint64_t cpu_ns = thread_cpu_ns() - begin_cpu_ns;
  EXPECT_GE(counters.pull_time.sampled_ticks, ticks_of_us(1400));
  EXPECT_LE(counters.pull_time.sampled_ticks, ticks - within_ticks);
  EXPECT_GE(counters.pull_time.sampled_cpu_ns, 1'400'000U);
  EXPECT_LE(counters.pull_time.sampled_cpu_ns, cpu_ns - kWithinNs);
  // Two readings of the clock, of at most 1.5 us each.
  EXPECT_GT(thread.overhead_ticks, overhead_ticks + within_ticks);
  EXPECT_LE(thread.overhead_ticks, overhead_ticks + within_ticks + ticks);
  EXPECT_GT(thread.overhead_cpu_ns, overhead_cpu_ns + kWithinNs);
  EXPECT_LE(thread.overhead_cpu_ns, overhead_cpu_ns + kWithinNs + 3000);
}

TEST(PullSample, CountsItsLookAtElementsAsItsOwnTime) {
  const Chunk none(type_info<std::int64_t>(), 8);
  StageCounters counters;
  SampleStride stride;
  PullSample sample(counters, stride);
  EXPECT_EQ(sample.overhead_ticks(), 0U);
  const std::uint64_t begin_ticks = ticks_now();
  for (int i = 0; i < 1000; ++i) sample.note_elements(none);
  EXPECT_GT(sample.overhead_ticks(), 0U);
  EXPECT_LE(sample.overhead_ticks(), ticks_now() - begin_ticks);
}

/// Samples take a 400th of the time, so each long pull is one, and few short ones are.
TEST(PullSample, IsTakenAgainWhenItsPriceIsPaid) {
  StageCounters counters;
  counters.pulls = 10;
  counters.pull_time.ticks = ticks_of_us(1e12);
  SampleStride stride;
  EXPECT_TRUE(PullSample(counters, stride).is_taken());
  EXPECT_EQ(stride.length, 1U);
  EXPECT_TRUE(PullSample(counters, stride).is_taken());
  counters.pull_time.ticks = 10;
  EXPECT_TRUE(PullSample(counters, stride).is_taken());
  EXPECT_GT(stride.length, 400U);
  EXPECT_LT(stride.length, 2U << 20);
}

/// Returns how many pulls there are from a sample that took `price_ticks`, and a little more, to the
/// next one.
std::uint32_t stride_behind(std::uint64_t price_ticks, std::uint64_t pulls,
                            std::uint64_t pull_ticks) {
  StageCounters counters;
  counters.pulls = pulls;
  counters.pull_time.ticks = pull_ticks;
  SampleStride stride;
  {
    const PullSample sample(counters, stride);
    detail::sampling_thread.overhead_ticks += price_ticks;
  }
  EXPECT_EQ(stride.left, stride.length);
  return stride.length;
}

TEST(PullSample, HasOneToTwoTimesTheDistanceThatItsPriceAsksFor) {
  const std::uint64_t price_ticks = ticks_of_us(1e9);  // beside which a little more is nothing
  for (const std::uint64_t pulls : {1, 2}) {
    const std::uint32_t stride = stride_behind(price_ticks, pulls, pulls * 4 * price_ticks);
    EXPECT_GE(stride, 101U);
    EXPECT_LE(stride, 201U);
  }
  const std::uint32_t longest = stride_behind(price_ticks, 1, 0);
  EXPECT_GE(longest, 1U << 20);
  EXPECT_LT(longest, 2U << 20);
  detail::sampling_thread.overhead_ticks += ticks_of_us(1e12);  // samples before it took that
  EXPECT_EQ(stride_behind(0, 1, ticks_of_us(1e12)), 1U);
}

TEST(CpuClocks, AreThoseOfTheKernel) {
  const auto kernel_ns = [](clockid_t clock) {
    timespec now{};
    clock_gettime(clock, &now);
    const auto time = std::chrono::seconds(now.tv_sec) + std::chrono::nanoseconds(now.tv_nsec);
    return static_cast<std::uint64_t>(time.count());
  };
  const std::uint64_t thread_before_ns = kernel_ns(CLOCK_THREAD_CPUTIME_ID);
  const std::uint64_t thread_ns = thread_cpu_ns();
  EXPECT_LE(thread_before_ns, thread_ns);
  EXPECT_LE(thread_ns, kernel_ns(CLOCK_THREAD_CPUTIME_ID));
  const std::uint64_t process_before_ns = kernel_ns(CLOCK_PROCESS_CPUTIME_ID);
  const std::uint64_t process_ns = detail::process_cpu_ns();
  EXPECT_LE(process_before_ns, process_ns);
  EXPECT_LE(process_ns, kernel_ns(CLOCK_PROCESS_CPUTIME_ID));
}

}  // namespace
}  // namespace infeed::test
