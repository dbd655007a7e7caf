#include "infeed/device/step_options.h"

#include <string>

#include <infeed/device/cost_model.h>
#include <infeed/device/hbm_need.h>
#include <infeed/error.h>

#include "thrown_error.h"

namespace infeed {
namespace {

template <typename Work>
std::string message_of_step(ErrorCode code, Work&& work) {
  const Error error = error_of(work);
  EXPECT_EQ(error.code(), code);
  return error.message();
}

std::int64_t compute_ps_of(std::string_view model, const StepOptions& options) {
  return step_time(workload(model), Slice::parse("v3-8"), 64, options).compute_ps;
}

TEST(StepOptions, PrecisionDoublesTheTrafficOfWhatIsBoundByIt) {
  const auto bfloat16 = static_cast<double>(compute_ps_of("resnet50", {}));
  const auto float32 =
      static_cast<double>(compute_ps_of("resnet50", {.precision = Precision::float32}));
  EXPECT_GT(float32, 1.2 * bfloat16);
  EXPECT_LT(float32, 2 * bfloat16);  // fixed costs, and products, don't double
  EXPECT_THAT(message_of_step(ErrorCode::invalid_argument,
                              [] { bytes_of_activation(Precision::mixed_float16); }),
              HasSubstr("mixed_float16 on a TPU, whose arrays don't have it; use mixed_bfloat16"));
}

/// A replica that has all devices meets no other at its normalisations.
TEST(StepOptions, OneReplicaHasNobodyToSynchroniseWith) {
  const auto time_of = [](StepOptions options) {
    options.devices_of_replica = 4;
    return step_time(workload("gpt2-small"), Slice::parse("v4-8"), 4, options).total_ps();
  };
  EXPECT_EQ(time_of({.synchronised = true}), time_of({}));
}

TEST(StepOptions, AnUpdateTakesItsTraffic) {
  const auto at = [](StepOptimizer optimizer) {
    return compute_ps_of("bert-large", {.optimizer = optimizer});
  };
  EXPECT_LT(at(StepOptimizer::sgd), at(StepOptimizer::momentum));
  EXPECT_LT(at(StepOptimizer::momentum), at(StepOptimizer::adam));
  EXPECT_EQ(at(StepOptimizer::adam), at(StepOptimizer::adamw));
  // 16 bytes more for each of the parameters, at the bandwidth of a core.
  const double seconds = 16.0 * static_cast<double>(workload("bert-large").parameters()) /
                         (450e9 * calibration(TpuGeneration::v3).hbm_efficiency);
  EXPECT_NEAR(static_cast<double>(at(StepOptimizer::adam) - at(StepOptimizer::sgd)), seconds * 1e12,
              10);
  EXPECT_EQ(step_optimizer_from("lars"), StepOptimizer::lars);
  EXPECT_EQ(message_of_step(ErrorCode::invalid_argument, [] { step_optimizer_from("ftrl"); }),
            "unknown optimiser 'ftrl'; known: sgd, momentum, adam, lars, adamw");
}

TEST(StepOptions, AnExecutionIsLaunchedOnce) {
  const std::int64_t one = compute_ps_of("lenet5", {});
  const std::int64_t ten = compute_ps_of("lenet5", {.steps_per_execution = 10});
  EXPECT_EQ(one - ten, 45'000'000);  // nine tenths of 50 us
  EXPECT_EQ(message_of_step(ErrorCode::invalid_argument,
                            [] { compute_ps_of("lenet5", {.steps_per_execution = 0}); }),
            "0 steps an execution and 1 batches an update; at least 1 of each is needed");
}

TEST(StepOptions, AnUpdateOfSeveralBatchesIsSharedByThem) {
  const Slice slice = Slice::parse("v3-8");
  const Workload model = workload("lenet5");
  const StepTime one = step_time(model, slice, 1024, {});
  const StepTime four = step_time(model, slice, 1024, {.batches_per_update = 4});
  EXPECT_EQ(four.all_reduce_ps, one.all_reduce_ps / 4);
  EXPECT_LT(four.compute_ps, one.compute_ps);
}

TEST(StepOptions, OperationsThatAreLaunchedOneByOneCostTheirLaunches) {
  const StepTime compiled = step_time(workload("classifier"), Slice::parse("v3-8"), 1024, {});
  const StepTime eager =
      step_time(workload("classifier"), Slice::parse("v3-8"), 1024, {.launches_operations = true});
  // The first layer launches forward, one gradient and the update; the second one more gradient.
  EXPECT_EQ(eager.launch_ps, 7 * 20'000'000);
  EXPECT_EQ(eager.compute_ps - eager.launch_ps, compiled.compute_ps - compiled.launch_ps);
}

TEST(StepOptions, AnOperationWithoutAProductCostsItsTraffic) {
  const Workload model{.name = "sum",
                       .ops = {{.name = "sum",
                                .kind = OpKind::elementwise,
                                .n = 1'000'000,
                                .input_elements = 2'000'000,
                                .activation_passes = 0}}};
  const Calibration exact{};
  const auto ps = [&](OpKind kind) {
    Workload other = model;
    other.ops[0].kind = kind;
    return step_time(other, Slice::parse("v4-8"), 4, {}, exact).compute_ps;
  };
  // One example a chip: 6 MB forward and 6 MB backward at 1200 GB/s.
  EXPECT_EQ(ps(OpKind::elementwise), 10'000'000);
  EXPECT_NEAR(static_cast<double>(ps(OpKind::normalisation)), 16e6 / 1200e9 * 1e12, 1);
  EXPECT_EQ(model.ops[0].kept_bytes(Precision::float32), 4'000'000);
}

TEST(StepOptions, ADepthwiseConvolutionRunsOnTheVectorUnits) {
  // Per example and core 2^20 outputs of a 5 x 5 window: 25 * 2^20 multiply-adds, 1024 a cycle.
  const Workload model{.name = "depthwise",
                       .ops = {{.name = "depthwise",
                                .kind = OpKind::depthwise,
                                .rows = 1 << 14,
                                .k = 25,
                                .n = 64,
                                .input_elements = 1 << 20,
                                .activation_passes = 0}}};
  EXPECT_EQ(model.macs(), std::int64_t{25} << 20);
  EXPECT_EQ(to_string(OpKind::depthwise), "depthwise");
  const Calibration exact{};
  const auto ps = [&](const Workload& of, const char* slice, std::int64_t batch) {
    return step_time(of, Slice::parse(slice), batch, {}, exact).compute_ps;
  };
  // Forward and both gradients; 4 MB of traffic each at 450 GB/s a core are hidden.
  const double pass_ps = 25 * 1024 / (0.94e9) * 1e12;
  EXPECT_NEAR(static_cast<double>(ps(model, "v3-8", 8)), 3 * pass_ps, 3);
  // A replica of v4 is a chip of two cores.
  EXPECT_NEAR(static_cast<double>(ps(model, "v4-8", 4)), 3 * 25 * 512 / (1.05e9) * 1e12, 3);
  Workload first = model;
  first.ops[0].needs_input_gradient = false;
  EXPECT_NEAR(static_cast<double>(ps(first, "v3-8", 8)), 2 * pass_ps, 2);
  // With a window of 1 x 1 it is bound by its traffic, input and output of 2^20 values of two bytes.
  Workload small = model;
  small.ops[0].k = 1;
  const double bytes = 2 * (2 << 20);
  EXPECT_GT(static_cast<double>(ps(small, "v3-8", 8)), 3 * bytes / 450e9 * 1e12);
  EXPECT_LT(static_cast<double>(ps(small, "v3-8", 8)), 3.01 * bytes / 450e9 * 1e12);
}

TEST(AllReduce, IsHiddenByTheBackwardPassWhereTheGenerationOverlaps) {
  const Workload model = workload("bert-large");
  const Slice v4 = Slice::parse("v4-128");
  Calibration calibrated = calibration(TpuGeneration::v4);
  const StepTime overlapped = step_time(model, v4, 1024, {}, calibrated);
  calibrated.overlaps_all_reduce = false;
  const StepTime serial = step_time(model, v4, 1024, {}, calibrated);
  EXPECT_EQ(overlapped.compute_ps, serial.compute_ps);
  EXPECT_EQ(serial.hidden_all_reduce_ps, 0);
  EXPECT_EQ(serial.all_reduce_ps, all_reduce_ps(v4, model.parameters() * 4));
  EXPECT_GT(overlapped.hidden_all_reduce_ps, 0);
  EXPECT_GT(overlapped.all_reduce_ps, 0);  // the last bucket has nothing to hide behind
  EXPECT_LT(overlapped.all_reduce_ps, serial.all_reduce_ps);
  EXPECT_EQ(step_time(model, Slice::parse("v3-32"), 448).hidden_all_reduce_ps, 0);
}

TEST(HbmNeed, CountsVariablesSlotsAndActivations) {
  const Workload model = workload("classifier");
  const HbmNeed need =
      hbm_need(model, Slice::parse("v3-8"), 80, {.optimizer = StepOptimizer::adam});
  EXPECT_EQ(need.variables_bytes, 4 * 101'770);
  EXPECT_EQ(need.gradients_bytes, 4 * 101'770);
  EXPECT_EQ(need.slots_bytes, 8 * 101'770);
  EXPECT_EQ(need.activations_bytes, 10 * (128 + 10) * 2);
  EXPECT_EQ(need.available_bytes, std::int64_t{16} << 30);
  ASSERT_EQ(need.largest.size(), 4u);
  EXPECT_EQ(need.largest[0].name, "dense784-128 (variables)");
  EXPECT_EQ(need.largest[0].bytes, 4 * (784 * 128 + 128));
}

TEST(HbmNeed, TooLittleNamesTheLargestTensorsAndWhatToDo) {
  const Slice slice = Slice::parse("v3-8");
  EXPECT_THAT(message_of_step(ErrorCode::resource_exhausted,
                              [&] { check_hbm(workload("gpt2-1.5b"), slice, 8); }),
              AllOf(HasSubstr("gpt2-1.5b with a global batch of 8 needs "),
                    HasSubstr(" of HBM a device, and v3-8 has 16.00 GiB: variables 5.80 GiB"),
                    HasSubstr("the largest: "), HasSubstr("no batch fits")));
  const Workload resnet = workload("resnet50");
  const std::int64_t most = largest_batch(resnet, slice);
  EXPECT_TRUE(hbm_need(resnet, slice, most).fits());
  EXPECT_FALSE(hbm_need(resnet, slice, most + 1).fits());
  check_hbm(resnet, slice, most);
  EXPECT_THAT(
      message_of_step(ErrorCode::resource_exhausted, [&] { check_hbm(resnet, slice, most + 1); }),
      HasSubstr("use a global batch of at most " + std::to_string(most)));
}

TEST(Workload, TablesOfARecommenderAreSpreadOverTheSlice) {
  const Workload model = workload("dlrm");
  const std::int64_t small = hbm_need(model, Slice::parse("v4-128"), 65'536).variables_bytes;
  const std::int64_t large = hbm_need(model, Slice::parse("v4-256"), 65'536).variables_bytes;
  EXPECT_NEAR(static_cast<double>(small), 2.0 * static_cast<double>(large), 2e7);
  // A gather takes longer with more rows.
  Workload twice = model;
  twice.ops[0].rows *= 2;
  const Slice slice = Slice::parse("v4-128");
  EXPECT_GT(step_time(twice, slice, 65'536).compute_ps, step_time(model, slice, 65'536).compute_ps);
}

TEST(Slice, SaysWhichRatesOfLinksArePublished) {
  EXPECT_EQ(to_string(chip_spec(TpuGeneration::v3).ici_figure), "published");
  EXPECT_EQ(to_string(chip_spec(TpuGeneration::v4).ici_figure), "effective");
}

}  // namespace
}  // namespace infeed
