#include <nlohmann/json.hpp>

#include "matchers.h"
#include "temporary_folder.h"
#include "tools/run_program.h"

namespace infeed::test {
namespace {

TEST(StepCommand, SimulatesALargeSlice) {
  const TemporaryFolder folder;
  const std::string file = folder.file("step.json");
  const ProgramResult ended =
      run_infeed({"step", "--slice", "v3-2048", "--model", "resnet50", "--batch", "32768",
                  "--virtual", "1000", "--json", file, "--no-color"});
  EXPECT_EQ(ended.status, 0) << ended.err;
  EXPECT_THAT(ended.out, HasSubstr("resnet50 on v3-2048, global batch 32,768: "));
  EXPECT_THAT(ended.out, HasSubstr("1,000 virtual steps of 256 hosts, 128 examples each"));
  const auto json = nlohmann::json::parse(read_whole(file));
  EXPECT_EQ(json.at("schema"), "infeed.step");
  EXPECT_NEAR(json.at("step_us").get<double>(),
              json.at("compute_us").get<double>() + json.at("all_reduce_us").get<double>(), 1e-3);
  EXPECT_EQ(json.at("virtual").at("steps"), 1000);
  EXPECT_EQ(json.at("virtual").at("hosts"), 256);
  const auto again = run_infeed({"step", "--slice", "v3-2048", "--model", "resnet50", "--batch",
                                 "32768", "--virtual", "1000", "--no-color"});
  EXPECT_EQ(again.out, ended.out);  // no figure is measured
}

TEST(StepCommand, HoldsTheModelAgainstPublishedRuns) {
  const TemporaryFolder folder;
  const std::string file = folder.file("validation.json");
  const ProgramResult ended = run_infeed({"step", "--validate", "--json", file, "--no-color"});
  EXPECT_EQ(ended.status, 0) << ended.err;
  EXPECT_THAT(ended.out, HasSubstr("held out"));
  EXPECT_THAT(ended.out, HasSubstr("128 to 8 a core: right"));
  const auto json = nlohmann::json::parse(read_whole(file));
  EXPECT_EQ(json.at("points").size(), 15u);
  EXPECT_EQ(json.at("holds"), true);
  EXPECT_THAT(ended.out, HasSubstr("AlexNet's conv1, weight-stationary: reported 112283 cycles, "
                                   "computed 112283: exact"));
  EXPECT_EQ(json.at("scale_sim").size(), 4u);
  EXPECT_EQ(run_infeed({"step", "--validate", "--slice", "v3-8"}).status, 2);
  EXPECT_EQ(run_infeed({"step", "--validate", "--virtual", "10"}).status, 2);
}

TEST(StepCommand, SaysWhatItsFiguresWereCalibratedOn) {
  EXPECT_THAT(run_infeed({"step", "--slice", "v3-8", "--no-color"}).out,
              HasSubstr("calibrated on MLPerf training: ResNet-50 v0.6 on v3-32"));
  EXPECT_THAT(run_infeed({"step", "--slice", "v6e-8", "--no-color"}).out,
              HasSubstr("not calibrated: there is no published run for v6e"));
}

TEST(StepCommand, PrecisionOptimiserAndExecutionsChangeTheStep) {
  const auto out = [](std::vector<std::string> more) {
    std::vector<std::string> arguments = {"step",       "--slice", "v3-8", "--model",
                                          "bert-large", "--batch", "16",   "--no-color"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return run_infeed(arguments).out;
  };
  const std::string plain = out({});
  EXPECT_THAT(plain, HasSubstr("mixed_bfloat16, adam; a new batch shape takes"));
  EXPECT_THAT(plain, HasSubstr("of 16.00 GiB a device; the largest: words (variables) 0."));
  EXPECT_THAT(plain, HasSubstr("links of 83 GB/s one way (published)"));
  EXPECT_THAT(plain, HasSubstr("(of it launch 50.0)"));
  EXPECT_THAT(out({"--precision", "float32", "--optimizer", "sgd"}), HasSubstr("float32, sgd;"));
  EXPECT_THAT(out({"--steps-per-execution", "100"}), HasSubstr("(of it launch 0.5)"));
  const ProgramResult too_much =
      run_infeed({"step", "--slice", "v3-8", "--model", "gpt2-1.5b", "--batch", "8"});
  EXPECT_EQ(too_much.status, 1);
  EXPECT_THAT(too_much.err, HasSubstr("the largest: words (variables)"));
}

/// The bytes of this batch are more than 2^63, and seemed to fit.
TEST(StepCommand, NoBatchIsTooLargeToBeRefused) {
  const ProgramResult ended = run_infeed(
      {"step", "--slice", "v5litepod-1", "--model", "gpt2-1.5b", "--batch", "2500000000"});
  EXPECT_EQ(ended.status, 1);
  EXPECT_THAT(ended.err, HasSubstr(" GiB of HBM a device, and v5litepod-1 has 16.00 GiB: "));
}

TEST(StepCommand, SweepsTheBatchUntilItDoesNotFit) {
  const TemporaryFolder folder;
  const std::string file = folder.file("sweep.json");
  const ProgramResult ended = run_infeed({"step", "--slice", "v3-32", "--model", "resnet50",
                                          "--sweep-batch", "--json", file, "--no-color"});
  EXPECT_EQ(ended.status, 0) << ended.err;
  EXPECT_THAT(ended.out, HasSubstr("####"));
  EXPECT_THAT(ended.out, HasSubstr("does not fit"));
  const auto batches = nlohmann::json::parse(read_whole(file)).at("batches");
  ASSERT_GT(batches.size(), 5u);
  for (std::size_t i = 1; i < batches.size(); ++i) {
    const auto& before = batches[i - 1];
    const auto& swept = batches[i];
    EXPECT_EQ(swept.at("batch"), 2 * before.at("batch").get<std::int64_t>());
    EXPECT_GT(swept.at("step_ms"), before.at("step_ms"));
    EXPECT_GT(swept.at("examples_per_s"), before.at("examples_per_s"));
    EXPECT_GT(swept.at("hbm_gib"), before.at("hbm_gib"));
    EXPECT_DOUBLE_EQ(swept.at("learning_rate").get<double>(),
                     0.1 * swept.at("batch").get<double>() / 256);
    EXPECT_EQ(swept.at("fits"), i + 1 < batches.size());
  }
}

TEST(StepCommand, OptionsOfVirtualStepsNeedThem) {
  const ProgramResult ended = run_infeed({"step", "--service-us", "5"});
  EXPECT_EQ(ended.status, 2);
  EXPECT_THAT(ended.err, HasSubstr("--virtual"));
  const ProgramResult unknown = run_infeed({"step", "--slice", "v3-9"});
  EXPECT_EQ(unknown.status, 2);
  EXPECT_THAT(unknown.err, HasSubstr("v3-9"));
}

TEST(StepCommand, ReplaysWhatWasPaced) {
  const TemporaryFolder folder;
  const std::string times = folder.file("times.txt");
  const ProgramResult paced = run_infeed({"pace", "--step-us", "500", "--source-us", "2000",
                                          "--seconds", "0.1", "--service-times", times});
  EXPECT_EQ(paced.status, 0) << paced.err;
  const ProgramResult ended =
      run_infeed({"step", "--slice", "v3-32", "--model", "lenet5", "--batch", "4096", "--virtual",
                  "500", "--service-samples", times, "--no-color"});
  EXPECT_EQ(ended.status, 0) << ended.err;
  EXPECT_THAT(ended.out, HasSubstr("HIGHLY input-bound"));
}

}  // namespace
}  // namespace infeed::test
