#include "device/virtual_steps.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "cli/terminal.h"
#include "temporary_folder.h"
#include "thrown_error.h"

namespace infeed::tools {
namespace {

constexpr std::int64_t kStepPs = 25'000'000'000;

std::string printed(const VirtualSteps& steps) {
  const TemporaryFolder folder;
  const std::string path = folder.file("out");
  std::FILE* const out = std::fopen(path.c_str(), "w");
  Terminal terminal(out);
  print_virtual_steps(steps, terminal);
  std::fclose(out);
  return read_whole(path);
}

TEST(VirtualSteps, ALargeSliceWaitsForItsTail) {
  const Slice slice = Slice::parse("v3-2048");
  const StepsOfSlice steps{.slice = slice, .batch = 32768, .step = {.compute_ps = kStepPs}};
  const VirtualSteps large = run_virtual_steps(steps, {.steps = 1000}, {});
  EXPECT_EQ(large.hosts, 256);
  EXPECT_EQ(large.examples_of_host, 128);
  EXPECT_EQ(large.service, "made up: 20 ms at the median, log-normal with sigma 0.25");
  EXPECT_NEAR(static_cast<double>(large.result.tail.host_p50_ps), 0.8 * kStepPs, 0.01 * kStepPs);
  EXPECT_NEAR(large.result.tail.step_p50_quantile, std::pow(0.5, 1.0 / 256), 0.001);
  const Slice small = Slice::parse("v3-8");
  const VirtualSteps one = run_virtual_steps(
      {.slice = small, .batch = 128, .step = {.compute_ps = kStepPs}}, {.steps = 1000}, {});
  EXPECT_LT(one.result.summary.infeed_wait_share, large.result.summary.infeed_wait_share);
  ASSERT_EQ(large.depths.size(), 6u);
  for (std::size_t i = 1; i < large.depths.size(); ++i) {
    EXPECT_LE(large.depths[i].infeed_wait_share, large.depths[i - 1].infeed_wait_share);
  }
  EXPECT_EQ(large.depths[1].queue_depth, 2);
  EXPECT_EQ(large.depths[1].infeed_wait_share, large.result.summary.infeed_wait_share);
  const std::string text = printed(large);
  EXPECT_THAT(text, HasSubstr("1,000 virtual steps of 256 hosts, 128 examples each, 2 batches "
                              "ready\n  service times made up: 20 ms"));
  EXPECT_THAT(text, HasSubstr("\n  infeed wait by batches ready:  1: "));
  EXPECT_THAT(text, HasSubstr("input-bound because"));
  const auto json = json_of(large);
  EXPECT_EQ(json.at("verdict"), to_string(large.result.summary.verdict));
  EXPECT_EQ(json.at("depths").size(), 6u);
}

TEST(VirtualSteps, LaunchIsChargedAndTheStepThatCompilesIsNotCounted) {
  const Slice slice = Slice::parse("v3-8");
  const StepsOfSlice steps{.slice = slice,
                           .batch = 128,
                           .step = {.compute_ps = kStepPs},
                           .launch_ps = kStepPs,
                           .steps_per_execution = 10,
                           .compilation_ps = 3 * kStepPs};
  const VirtualSteps run =
      run_virtual_steps(steps, {.steps = 100, .service_us = 1, .service_spread = 0}, {});
  EXPECT_EQ(run.service, "made up: 0.001 ms each");
  // The step that compiles starts an execution of ten, and ten more begin within the hundred.
  EXPECT_EQ(run.result.executions, 11);
  EXPECT_EQ(run.result.compilations, 1);
  EXPECT_EQ(run.result.summary.span_ps, (100 + 10) * kStepPs);
  EXPECT_THAT(printed(run), HasSubstr("compiled 1 times, launched 11 times"));
}

TEST(VirtualSteps, TakesMeasuredTimes) {
  const TemporaryFolder folder;
  const std::string file = folder.write("times.txt", "50000\n");  // twice a step
  const Slice slice = Slice::parse("v3-32");
  const StepsOfSlice steps{.slice = slice, .batch = 512, .step = {.compute_ps = kStepPs}};
  const VirtualSteps run = run_virtual_steps(steps, {.steps = 200, .samples_file = file}, {});
  EXPECT_EQ(run.service, "1 of " + file);
  EXPECT_NEAR(run.result.summary.infeed_wait_share, 0.5, 0.01);
  EXPECT_EQ(error_of([&] {
              run_virtual_steps(steps, {.steps = 1, .samples_file = folder.file("none")}, {});
            }).code(),
            ErrorCode::not_found);
}

TEST(VirtualSteps, LogNormalTimesAreItsQuantiles) {
  const std::vector<std::int64_t> times = log_normal_ps(1e9, 0.5, 10'001);
  ASSERT_EQ(times.size(), 10'001u);
  EXPECT_TRUE(std::ranges::is_sorted(times));
  EXPECT_EQ(times[5000], 1'000'000'000);
  // The mean is median * exp(sigma^2 / 2); one sigma is at the 84.13th percentile.
  double sum = 0;
  for (const std::int64_t ps : times) sum += static_cast<double>(ps);
  EXPECT_NEAR(sum / 10'001, 1e9 * std::exp(0.125), 1e6);
  EXPECT_NEAR(static_cast<double>(times[8414]), 1e9 * std::exp(0.5), 1e6);
  EXPECT_THAT(log_normal_ps(7, 0, 2), ElementsAre(7, 7));
}

/// The product of these is 2^64, so that the transfer took no time.
TEST(VirtualSteps, ABatchOfTooManyBytesIsRefused) {
  const Slice slice = Slice::parse("v3-8");
  EXPECT_EQ(error_of([&] {
              run_virtual_steps(
                  {.slice = slice, .batch = std::int64_t{1} << 24, .step = {.compute_ps = kStepPs}},
                  {.steps = 1, .example_bytes = std::int64_t{1} << 40}, {});
            }).message(),
            "a batch of 16,777,216 examples of 1,099,511,627,776 bytes has more than "
            "1,000,000,000,000,000 bytes, the most that is simulated; give a smaller "
            "--example-bytes or --batch");
}

TEST(VirtualSteps, CanBeStopped) {
  const Slice slice = Slice::parse("v3-8");
  std::stop_source stop;
  stop.request_stop();
  EXPECT_EQ(error_of([&] {
              run_virtual_steps({.slice = slice, .batch = 1, .step = {.compute_ps = 1}},
                                {.steps = 100'000'000}, stop.get_token());
            }).code(),
            ErrorCode::cancelled);
}

}  // namespace
}  // namespace infeed::tools
