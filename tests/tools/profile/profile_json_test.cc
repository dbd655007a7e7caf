#include "profile/outputs/profile_json.h"

#include "matchers.h"
#include "tools/profile/synthetic_run.h"

namespace infeed::test {
namespace {

using Json = nlohmann::json;

Json json_of(const SyntheticProfile& profile) {
  return Json::parse(tools::profile_json_text(profile.run, profile.report));
}

TEST(ProfileJson, HasWhatTheReportHas) {
  const SyntheticProfile profile = synthetic_profile();
  const Json json = json_of(profile);
  EXPECT_EQ(json["schema"], "infeed.profile");
  EXPECT_EQ(json["schema_version"], 1);
  EXPECT_EQ(json["verdict"], profile.report.verdict);
  EXPECT_DOUBLE_EQ(json["input_bound_percent"].get<double>(), profile.report.input_bound_percent);
  const Json& steps = json["steps"];
  EXPECT_EQ(steps["count"], 400);
  EXPECT_EQ(steps["compute_ns"], profile.report.compute_ns);
  EXPECT_EQ(steps["total_ns"], steps["infeed_wait_ns"].get<std::uint64_t>() +
                                   steps["transfer_ns"].get<std::uint64_t>() +
                                   steps["compute_ns"].get<std::uint64_t>() +
                                   steps["all_reduce_ns"].get<std::uint64_t>() +
                                   steps["idle_ns"].get<std::uint64_t>());
  EXPECT_EQ(steps["p50_ns"], 20'000'000);
  EXPECT_EQ(steps["slowest_ns"], 80'000'000);
  EXPECT_EQ(json["bottleneck"], 2);
  EXPECT_EQ(json["stages"].size(), 5u);
  EXPECT_EQ(json["stages"][2]["label"], "map 'augment'");
  EXPECT_EQ(json["stages"][2]["is_bottleneck"], true);
  EXPECT_EQ(json["stages"][2]["queue_fill"], nullptr);
  EXPECT_EQ(json["stages"][2]["call_histogram"][1],
            Json({{"from_ns", 8}, {"to_ns", 16}, {"calls", 1000}}));
  EXPECT_NEAR(json["stages"][3]["queue_fill"].get<double>(), 0.9, 1e-9);
  EXPECT_EQ(json["stages"][0]["consumer"], nullptr);
  EXPECT_EQ(json["what_ifs"][0]["tried_gain"], 0.19);
  EXPECT_EQ(json["what_ifs"][1]["tried_gain"], nullptr);
  EXPECT_EQ(json["tuning"].size(), 3u);
  EXPECT_EQ(json["windows"].size(), profile.run.windows.size());
}

TEST(ProfileJson, LeadsFromALateStepToItsRecord) {
  const Json json = json_of(synthetic_profile());
  ASSERT_EQ(json["late_steps"].size(), 10u);
  const Json& late = json["late_steps"][0];
  EXPECT_EQ(late["step"], 1020);
  EXPECT_EQ(late["cause"], "slow_read");
  EXPECT_EQ(late["stage"], 4);
  EXPECT_EQ(late["place"], Json({{"file", "data/train-00003-of-00016.tfrecord"},
                                 {"record", 61},
                                 {"records", 1},
                                 {"offset_bytes", 48210}}));
  EXPECT_EQ(json["slow_calls"][late["slow_call"].get<std::size_t>()]["waited_in"], "file");
  EXPECT_EQ(json["late_steps"][1]["place"], nullptr);
  EXPECT_EQ(json["late_steps"][1]["untraceable"], "the order of shuffle isn't known here");
  EXPECT_EQ(json["stalls"][0],
            Json({{"cause", "slow_read"}, {"stage", 4}, {"steps", 4}, {"late_ns", 180'000'000}}));
}

TEST(ProfileJson, TakesNamesOfAnyBytes) {
  const std::string text = [] {
    const SyntheticProfile profile =
        synthetic_profile({.file = "a\x1b[31m\nb\xff", .function = "\"</script>\x7f\xc3\x28"});
    return tools::profile_json_text(profile.run, profile.report);
  }();
  EXPECT_THAT(text, Not(HasSubstr("\x1b")));
  EXPECT_THAT(text, Not(HasSubstr("\x7f")));
  EXPECT_EQ(Json::parse(text)["late_steps"][0]["place"]["file"], "a\x1b[31m\nb\\xff");
}

TEST(ProfileJson, RunsWithLittleInThem) {
  EXPECT_EQ(json_of({})["steps"]["p50_ns"], nullptr);
  const Json empty = json_of(synthetic_profile({.steps = 0}));
  EXPECT_EQ(empty["steps"]["count"], 0);
  EXPECT_EQ(empty["input_bound_percent"], nullptr);
  for (const char* const unknown : {"steps_per_s", "typical_ns", "slowest_ns"}) {
    EXPECT_EQ(empty["steps"][unknown], nullptr) << unknown;
  }
  EXPECT_EQ(empty["headroom"]["device_steps_per_s_max"], nullptr);
  EXPECT_EQ(json_of(synthetic_profile({.steps = 1, .late_every = 0}))["steps"]["p99_ns"],
            20'000'000);
  SyntheticProfile foreign = synthetic_profile();
  foreign.report.bottleneck = 77;
  foreign.report.late_steps[0].stage = -5;
  foreign.report.late_steps[0].slow_call = 1000;
  foreign.run.windows[0].stages[0].stage = 99;
  EXPECT_EQ(json_of(foreign)["bottleneck"], nullptr);
  EXPECT_EQ(json_of(foreign)["late_steps"][0]["place"], nullptr);
}

}  // namespace
}  // namespace infeed::test
