#include "infeed/device/cost_model.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <string>

#include <infeed/error.h>

namespace infeed {
namespace {

// SCALE-Sim v2's own reports.
TEST(SystolicArray, MatchesScaleSimsGoldenReports) {
  const SystolicArray array{.rows = 32, .columns = 32};
  const Gemm gemm{.m = 256, .n = 128, .k = 256};
  EXPECT_EQ(array.weight_stationary_cycles(gemm), 11199);
  EXPECT_EQ(array.output_stationary_cycles(gemm), 10175);
  EXPECT_EQ(array.input_stationary_cycles(gemm), 14207);
  const Gemm alexnet_conv1{.m = 55 * 55, .n = 96, .k = 11 * 11 * 3};
  EXPECT_EQ(array.weight_stationary_cycles(alexnet_conv1), 112283);
}

TEST(MxuCycles, EightRowsOfATileTakeEightCycles) {
  const ChipSpec& v3 = chip_spec(TpuGeneration::v3);
  EXPECT_EQ(mxu_cycles(v3, 1, {.m = 1024, .n = 128, .k = 128}), 1024 + 256);
  EXPECT_EQ(mxu_cycles(v3, 1, {.m = 1, .n = 128, .k = 128}), 128 + 256);  // weights must be loaded
  EXPECT_EQ(mxu_cycles(v3, 1, {.m = 1025, .n = 1, .k = 1}), 1032 + 256);
  EXPECT_EQ(mxu_cycles(v3, 2, {.m = 1024, .n = 256, .k = 129}), 4 * 1024 / 2 + 256);
  // v6e: 256x256 cells at two multiply-adds a cycle.
  EXPECT_EQ(mxu_cycles(chip_spec(TpuGeneration::v6e), 1, {.m = 1024, .n = 256, .k = 256}),
            512 + 256);
  EXPECT_THROW(mxu_cycles(v3, 1, {.m = 0, .n = 1, .k = 1}), Error);
}

TEST(AllReduce, IsBandwidthOrHopsAndDoublesWithoutWraparound) {
  // v3-2048: 2 axes of 32, wrapped: 2 x 100 MB / (2 axes x 166 GB/s).
  EXPECT_NEAR(static_cast<double>(all_reduce_ps(Slice::parse("v3-2048"), 100'000'000)) * 1e-12,
              2 * 100e6 / (2 * 166e9), 1e-9);
  EXPECT_NEAR(static_cast<double>(all_reduce_ps(Slice::parse("v3-8"), 100'000'000)) * 1e-12,
              2 * 2 * 100e6 / (2 * 166e9), 1e-9);
  EXPECT_EQ(all_reduce_ps(Slice::parse("v3-2048"), 4), 64'000'000);  // 1 us x (32 + 32)
  EXPECT_EQ(all_reduce_ps(Slice::parse("v6e-1"), 100'000'000), 0);
}

TEST(Transfer, SharesTheLinkOfAChip) {
  EXPECT_EQ(transfer_ps(chip_spec(TpuGeneration::v3), 15'000), 1'000'000);
  EXPECT_EQ(transfer_ps(chip_spec(TpuGeneration::v3), 0), 0);
}

TEST(Workload, CountsAreTheModels) {
  EXPECT_EQ(workload("classifier").parameters(), 784 * 128 + 128 + 128 * 10 + 10);
  EXPECT_EQ(workload("classifier").macs(), 784 * 128 + 128 * 10);
  // Keras counts 25,557,032 trainable ones (this model's biases go to normalisation).
  EXPECT_EQ(workload("resnet50").parameters(), 25'557'032);
  EXPECT_NEAR(static_cast<double>(workload("resnet50").macs()), 4.09e9, 0.05e9);
  EXPECT_NEAR(static_cast<double>(workload("resnet20").parameters()), 0.27e6, 0.01e6);
  EXPECT_NEAR(static_cast<double>(workload("wide-resnet-28-10").parameters()), 36.5e6, 0.2e6);
}

TEST(Workload, NamesAreListedWhenOneIsUnknown) {
  for (const std::string_view name : workload_names()) EXPECT_EQ(workload(name).name, name);
  try {
    workload("resnet51");
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::invalid_argument);
    EXPECT_THAT(error.message(), testing::StartsWith("unknown workload 'resnet51'; known: "));
    EXPECT_THAT(error.message(), testing::HasSubstr("classifier, lenet5, "));
  }
}

TEST(StepTime, GrowsWithTheBatchAndShrinksWithTheSlice) {
  const Workload model = workload("resnet50-28");
  const Slice small = Slice::parse("v3-8");
  const auto at = [&](std::int64_t batch) { return step_time(model, small, batch).compute_ps; };
  EXPECT_LT(at(64), at(1024));
  EXPECT_LT(at(1024), at(8192));
  EXPECT_LT(step_time(model, Slice::parse("v3-32"), 1024).compute_ps, at(1024));
  EXPECT_EQ(at(1024), at(1017));  // the largest share decides: 128 either way
  EXPECT_THROW(at(0), Error);
}

TEST(StepTime, DifferentWorkloadsSpanTheUsefulRange) {
  const Slice slice = Slice::parse("v3-8");
  std::int64_t before = 0;
  for (const char* name : {"classifier", "resnet20", "resnet50-28", "wide-resnet-28-10"}) {
    const std::int64_t ps = step_time(workload(name), slice, 1024).total_ps();
    EXPECT_GT(ps, before) << name;
    before = ps;
  }
}

struct Published {
  const char* slice;
  std::int64_t batch;
  double ms;
  double tolerance;
};

// MLPerf training v0.6, v0.7 and v1.0, ResNet-50: step time from the logged throughput.
class Resnet50 : public testing::TestWithParam<Published> {};

TEST_P(Resnet50, MatchesThePublishedStepTime) {
  const Published& point = GetParam();
  const StepTime time = step_time(workload("resnet50"), Slice::parse(point.slice), point.batch);
  const double ms = static_cast<double>(time.total_ps()) * 1e-9;
  EXPECT_NEAR(ms / point.ms, 1, point.tolerance)
      << ms << " ms, of which all-reduce " << static_cast<double>(time.all_reduce_ps) * 1e-9;
}

INSTANTIATE_TEST_SUITE_P(
    Mlperf, Resnet50,
    testing::Values(Published{"v3-32", 4096, 130.8, 0.15}, Published{"v3-128", 16384, 130.6, 0.15},
                    Published{"v3-256", 32768, 136.5, 0.15}, Published{"v3-512", 32768, 79.0, 0.30},
                    Published{"v3-1024", 32768, 44.0, 0.30},
                    Published{"v3-2048", 32768, 25.1, 0.30}, Published{"v3-32", 4096, 127.4, 0.15},
                    Published{"v3-8192", 65536, 14.2, 0.30}, Published{"v4-16", 2048, 73.4, 0.15},
                    Published{"v4-128", 8192, 37.0, 0.15}, Published{"v4-512", 8192, 14.2, 0.30},
                    Published{"v4-6912", 55296, 7.0, 0.30}));

}  // namespace
}  // namespace infeed
