#include "infeed/device/cost_model.h"

#include <cmath>
#include <string>

#include <infeed/device/step_validation.h>
#include <infeed/error.h>

#include "thrown_error.h"

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
  // Its 256 rows of weights take 256 cycles to load, which 128 rows of input don't fill.
  EXPECT_EQ(mxu_cycles(chip_spec(TpuGeneration::v6e), 1, {.m = 128, .n = 256, .k = 256}),
            256 + 256);
  EXPECT_THROW(mxu_cycles(v3, 1, {.m = 0, .n = 1, .k = 1}), Error);
}

TEST(AllReduce, IsBandwidthOrHopsAndHasHalfTheLinksWithoutWraparound) {
  const auto seconds = [](const char* slice) {
    return static_cast<double>(all_reduce_ps(Slice::parse(slice), 100'000'000)) * 1e-12;
  };
  // v3-2048: 2 axes of 32, wrapped: 2 x 100 MB x 1023/1024 over 2 axes x 166 GB/s.
  EXPECT_NEAR(seconds("v3-2048"), 2 * 100e6 * 1023 / 1024 / (2 * 166e9), 1e-9);
  EXPECT_NEAR(seconds("v3-8"), 2 * 100e6 * 3 / 4 / (2 * 83e9), 1e-9);
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
  EXPECT_NEAR(static_cast<double>(workload("bert-large").parameters()), 336e6, 2e6);
  EXPECT_NEAR(static_cast<double>(workload("gpt2-small").parameters()), 124.4e6, 0.1e6);
  EXPECT_NEAR(static_cast<double>(workload("gpt2-1.5b").parameters()), 1557.6e6, 1e6);
  EXPECT_EQ(workload("dlrm").sharded_parameters(), 187'767'399LL * 128);
  EXPECT_NEAR(static_cast<double>(workload("resnet20").parameters()), 0.27e6, 0.01e6);
  EXPECT_NEAR(static_cast<double>(workload("wide-resnet-28-10").parameters()), 36.5e6, 0.2e6);
}

/// BERT's was that of its embeddings, 512 times as much.
TEST(Workload, InputIsWhatTheHostSends) {
  const auto bytes_of = [](const char* model) {
    return workload(model).input_bytes(Precision::mixed_bfloat16);
  };
  EXPECT_EQ(bytes_of("resnet50"), 224 * 224 * 3 * 2);
  EXPECT_EQ(bytes_of("bert-large"), 512 * 4);
  EXPECT_EQ(bytes_of("gpt2-small"), 1024 * 4);
  EXPECT_EQ(bytes_of("dlrm"), 26 * 4);
}

TEST(Workload, NamesAreListedWhenOneIsUnknown) {
  for (const std::string_view name : workload_names()) EXPECT_EQ(workload(name).name, name);
  const Error error = error_of([] { workload("resnet51"); });
  EXPECT_EQ(error.code(), ErrorCode::invalid_argument);
  EXPECT_THAT(error.message(), testing::StartsWith("unknown workload 'resnet51'; known: "));
  EXPECT_THAT(error.message(), testing::HasSubstr("classifier, lenet5, "));
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

TEST(Calibration, NamesItsRunsOrNone) {
  EXPECT_THAT(std::string(calibration(TpuGeneration::v3).source),
              testing::HasSubstr("v0.6 on v3-32, v0.7 on v3-8192"));
  EXPECT_THAT(std::string(calibration(TpuGeneration::v4).source),
              testing::HasSubstr("v0.7 on v4-16, v1.0 on v4-6912"));
  for (const auto generation :
       {TpuGeneration::v2, TpuGeneration::v5e, TpuGeneration::v5p, TpuGeneration::v6e}) {
    EXPECT_EQ(calibration(generation).source, "") << to_string(generation);
  }
}

TEST(Validation, HasTheFifteenRunsOfWhichFourWereFittedTo) {
  const auto points = validate_step_times();
  ASSERT_EQ(points.size(), 15u);
  for (const ValidationPoint& point : points) {
    SCOPED_TRACE(point.number);
    const bool is_calibrated =
        point.number == 1 || point.number == 8 || point.number == 9 || point.number == 12;
    EXPECT_EQ(point.is_calibrated, is_calibrated);
    // These four runs are fitted exactly, by two free numbers a generation.
    if (is_calibrated) {
      EXPECT_NEAR(point.error(), 0, 0.001);
    }
    EXPECT_LE(std::abs(point.error()), point.error_max);
    EXPECT_TRUE(point.holds());
  }
}

TEST(Validation, SmallerBatchesAReplicaTrainFewerImagesASecond) {
  EXPECT_TRUE(batch_order_is_right());
}

TEST(Validation, APointBeyondItsBarDoesNotHold) {
  ValidationPoint point{.published_ms = 100, .error_max = 0.15, .model_ms = 114.9};
  EXPECT_TRUE(point.holds());
  point.model_ms = 115.1;
  EXPECT_FALSE(point.holds());
  point.model_ms = 84.9;
  EXPECT_FALSE(point.holds());
}

TEST(StepTime, OfOneReplicaOverAllDevicesHasNobodyToReduceWith) {
  const Workload model = workload("gpt2-small");
  const Slice slice = Slice::parse("v3-8");
  EXPECT_GT(step_time(model, slice, 8, {.devices_of_replica = 4}).all_reduce_ps, 0);
  EXPECT_EQ(step_time(model, slice, 8, {.devices_of_replica = 8}).all_reduce_ps, 0);
}

TEST(StepTime, ReplicasThatMeetAtEachNormPayForIt) {
  Workload model{
      .name = "norm",
      .ops = {{.kind = OpKind::normalisation, .n = 64, .input_elements = 64, .parameters = 128}}};
  const Slice slice = Slice::parse("v3-32");
  const std::int64_t alone = step_time(model, slice, 32).compute_ps;
  const std::int64_t meeting = step_time(model, slice, 32, {.synchronised = true}).compute_ps;
  // Forward and backward: 64 sums, 64 sums of squares and the count.
  EXPECT_NEAR(static_cast<double>(meeting - alone),
              2.0 * static_cast<double>(all_reduce_ps(slice, 129 * 4)), 10);
}

TEST(StepTime, UtilisationIsTheModelsOwnArithmeticOverThePeak) {
  Workload model{.name = "dense", .ops = {{.rows = 1, .k = 1000, .n = 1000}}};
  const Slice slice = Slice::parse("v3-8");  // 4 chips of 123 TFLOP/s
  EXPECT_NEAR(model_flop_utilisation(model, slice, 1e6), 6e6 * 1e6 / (4 * 123e12), 1e-9);
}

}  // namespace
}  // namespace infeed
