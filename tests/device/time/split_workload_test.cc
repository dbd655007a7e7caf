#include "infeed/device/split_workload.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <string>

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
