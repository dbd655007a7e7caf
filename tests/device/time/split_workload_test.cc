#include "infeed/device/split_workload.h"

#include <algorithm>
#include <gtest/gtest.h>

#include <infeed/device/hbm_need.h>

#include "device/error_message.h"

namespace infeed {
namespace {

ModelOp product(std::int64_t rows, std::int64_t k, std::int64_t n) {
  return {.rows = rows, .k = k, .n = n, .input_elements = rows * k, .parameters = k * n};
}

Workload two_products() {
  return {.name = "two", .ops = {product(4, 64, 256), product(4, 256, 64)}};
}

TEST(SplitWorkload, ByColumnsAndByRowsInTurn) {
  const Workload part = split_workload(two_products(), 4);
  EXPECT_EQ(part.ops[0].n, 64);
  EXPECT_EQ(part.ops[0].input_elements, 4 * 64);
  EXPECT_EQ(part.ops[0].parameters, 64 * 64);
  EXPECT_EQ(part.ops[0].exchanged_forward, 0);
  EXPECT_EQ(part.ops[0].exchanged_backward, 4 * 64);
  EXPECT_EQ(part.ops[1].k, 64);
  EXPECT_EQ(part.ops[1].input_elements, 4 * 64);
  EXPECT_EQ(part.ops[1].parameters, 64 * 64);
  EXPECT_EQ(part.ops[1].exchanged_forward, 4 * 64);
  EXPECT_EQ(part.ops[1].exchanged_backward, 0);
  EXPECT_EQ(part.macs() * 4, two_products().macs());
  EXPECT_EQ(part.parameters() * 4, two_products().parameters());
}

TEST(SplitWorkload, TheLastOneAloneIsGathered) {
  Workload three = two_products();
  three.ops.push_back(product(4, 64, 10));
  const Workload part = split_workload(three, 2);
  EXPECT_EQ(part.ops[2].n, 5);
  EXPECT_EQ(part.ops[2].exchanged_forward, 4 * 10 / 2);
}

TEST(SplitWorkload, AttentionByHeadsAndNothingElse) {
  Workload model = {
      .name = "m",
      .ops = {{.kind = OpKind::batched_product, .rows = 16, .k = 8, .n = 8, .input_elements = 128},
              {.kind = OpKind::normalisation, .n = 64, .input_elements = 64}}};
  const Workload part = split_workload(model, 4);
  EXPECT_EQ(part.ops[0].rows, 4);
  EXPECT_EQ(part.ops[0].input_elements, 32);
  EXPECT_EQ(part.ops[1].n, 64);
  EXPECT_EQ(part.ops[1].input_elements, 64);
}

/// A depthwise convolution of 3x3 on 8x8 pixels.
ModelOp depthwise(std::int64_t channels) {
  return {.kind = OpKind::depthwise,
          .rows = 64,
          .k = 9,
          .n = channels,
          .input_elements = 64 * channels,
          .parameters = 9 * channels};
}

TEST(SplitWorkload, DepthwiseByChannelsBetweenTwoProducts) {
  const Workload model{
      .name = "bottleneck",
      .ops = {product(64, 16, 96), depthwise(96), product(64, 96, 24), depthwise(24)}};
  const Workload part = split_workload(model, 4);
  // Each device makes 24 of the 96 channels, filters those, and multiplies them by its rows.
  EXPECT_EQ(part.ops[1].n, 24);
  EXPECT_EQ(part.ops[1].rows, 64);
  EXPECT_EQ(part.ops[1].k, 9);
  EXPECT_EQ(part.ops[1].input_elements, 64 * 24);
  EXPECT_EQ(part.ops[1].parameters, 9 * 24);
  EXPECT_EQ(part.ops[1].exchanged_forward, 0);
  EXPECT_EQ(part.ops[1].exchanged_backward, 0);
  EXPECT_EQ(part.ops[2].k, 24);
  EXPECT_EQ(part.ops[2].exchanged_forward, 64 * 24);
  // All devices have the last one's input: 6 of 24 channels each, gathered on both ways, half of a
  // sum.
  EXPECT_EQ(part.ops[3].n, 6);
  EXPECT_EQ(part.ops[3].exchanged_forward, 64 * 24 / 2);
  EXPECT_EQ(part.ops[3].exchanged_backward, 64 * 24 / 2);
  EXPECT_EQ(part.macs() * 4, model.macs());
  EXPECT_EQ(part.parameters() * 4, model.parameters());
}

TEST(SplitWorkload, ADepthwiseStepRecomputedByHand) {
  // One v4 chip of four takes 64 of 256 channels of 16 images, 64 pixels and 9 taps: 589,824
  // multiply-adds a pass over 2 x 1024 a cycle at 1.05 GHz, or its traffic at 1,200 GB/s.
  const Workload model{.name = "depthwise", .ops = {depthwise(256)}};
  const Slice slice = Slice::parse("v4-8");
  constexpr double kBytesPerS = 1200e9;
  constexpr double kValues = 16.0 * 64 * 64 * 2;  // bytes of the input and of the output, each
  constexpr double kWeights = 9.0 * 64;
  constexpr double kArithmeticS = 16.0 * 64 * 9 * 64 / 2048 / 1.05e9;
  const auto pass_s = [&](double bytes) { return std::max(kArithmeticS, bytes / kBytesPerS); };
  const double products_s = pass_s(2 * kValues + 2 * kWeights) +
                            pass_s(2 * kValues + 4 * kWeights) + pass_s(2 * kValues + 2 * kWeights);
  const double activations_s = kValues * 2 / kBytesPerS;
  // Both ways half of 16 x 64 x 256 values of 2 bytes, 3/4 of which cross a link of 45 GB/s twice, or
  // 1 us for each of four chips.
  const double exchanged = 16.0 * 64 * 256 * 2 / 2;
  const double exchange_s = std::max(2 * exchanged * 3 / 4 / 45e9, 2 * 4e-6);
  const double update_s = kWeights * 28 / kBytesPerS;  // Adam
  const StepTime time =
      step_time(model, slice, 16, {.precision = Precision::mixed_bfloat16, .devices_of_replica = 4},
                Calibration{});
  EXPECT_NEAR(static_cast<double>(time.compute_ps),
              (products_s + activations_s + 2 * exchange_s + update_s) * 1e12, 2);
}

TEST(SplitWorkload, OneDeviceChangesNothing) {
  const Slice slice = Slice::parse("v3-8");
  const Workload bert = workload("bert-large");
  const StepTime alone = step_time(bert, slice, 64);
  EXPECT_EQ(step_time(split_workload(bert, 1), slice, 64).total_ps(), alone.total_ps());
  EXPECT_EQ(exchange_ps(slice.chip(), 1, 1 << 20), 0);
}

TEST(SplitWorkload, WhatDevicesExchange) {
  // Two cores of a v3 chip: there and back through 900 GB/s of HBM.
  EXPECT_EQ(exchange_ps(chip_spec(TpuGeneration::v3), 2, 9'000'000), 20'000'000);
  EXPECT_EQ(exchange_ps(chip_spec(TpuGeneration::v3), 2, 0), 0);
  // Four v4 chips in a line: 2 x 3/4 of the bytes over a link; few bytes cost the hops.
  const ChipSpec& v4 = chip_spec(TpuGeneration::v4);
  const double link = v4.ici_gb_per_s_link * 1e9;
  EXPECT_NEAR(static_cast<double>(exchange_ps(v4, 4, 100'000'000)), 1.5e8 / link * 1e12, 2);
  EXPECT_EQ(exchange_ps(v4, 4, 8), 8'000'000);
}

TEST(SplitWorkload, TakesLessMemoryADevice) {
  const Slice slice = Slice::parse("v4-16");
  const Workload gpt = workload("gpt2-1.5b");
  const HbmNeed whole = hbm_need(gpt, slice, 8, {});
  const HbmNeed split = hbm_need(gpt, slice, 8, {.devices_of_replica = 4});
  EXPECT_LT(static_cast<double>(split.variables_bytes),
            0.32 * static_cast<double>(whole.variables_bytes));
  EXPECT_LT(split.slots_bytes, whole.slots_bytes / 3);
}

TEST(SplitWorkload, TradesArithmeticForExchange) {
  // One example of a GPT on a host of four chips: the other three have nothing to do unless the model is
  // split, and then all four share the products.
  const Slice slice = Slice::parse("v4-8");
  const Workload gpt = workload("gpt2-1.5b");
  const StepTime whole = step_time(gpt, slice, 1, {});
  const StepTime split = step_time(gpt, slice, 1, {.devices_of_replica = 4});
  EXPECT_LT(split.compute_ps, whole.compute_ps);
  // With an example for each chip, data parallelism has less to exchange than activations.
  const StepTime four = step_time(gpt, slice, 32, {});
  const StepTime four_split = step_time(gpt, slice, 32, {.devices_of_replica = 4});
  EXPECT_LT(four.compute_ps, four_split.compute_ps);
}

TEST(SplitWorkload, WhatCannotBeSplitIsNamed) {
  EXPECT_EQ(error_message([] { split_workload(two_products(), 0); }),
            "two split over 0 devices; at least 1 is needed");
  EXPECT_EQ(error_message([] {
              step_time(two_products(), Slice::parse("v4-16"), 8, {.devices_of_replica = 3});
            }),
            "replicas of 3 devices on v4-16, whose hosts have 4 each; devices_of_replica must "
            "divide that");
}

}  // namespace
}  // namespace infeed
