#include <algorithm>
#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <signal.h>

#include <infeed/infeed.h>

#include "device/service_samples.h"
#include "quiet_run.h"
#include "temporary_folder.h"
#include "thrown_error.h"
#include "tools/run_program.h"

/// infeed pace: the real program, for a fraction of a second.
namespace infeed::test {
namespace {

using Json = nlohmann::json;

Json pace_json(const std::string& file) { return Json::parse(read_whole(file)); }

std::int64_t pace_parts_ps(const Json& json) {
  std::int64_t sum = 0;
  for (const char* const part :
       {"infeed_wait_ps", "transfer_ps", "idle_ps", "compute_ps", "all_reduce_ps"}) {
    sum += json.at(part).get<std::int64_t>();
  }
  return sum;
}

TEST(PaceCommand, HoldsTheDeadlinesAndAccountsForTheWallsTime) {
  const TemporaryFolder folder;
  const std::string file = folder.file("pace.json");
  Json json;
  EXPECT_TRUE(holds_in_a_quiet_run([&] {
    const ProgramResult ended =
        run_infeed({"pace", "--step-us", "1200", "--seconds", "0.6", "--json", file, "--no-color"});
    EXPECT_EQ(ended.status, 0) << ended.err;
    EXPECT_THAT(ended.out, HasSubstr("v3-8, steps of 1200 us, batches that are made up\n"));
    EXPECT_THAT(ended.out, HasSubstr("  overshoot: p50 "));
    json = pace_json(file);
    EXPECT_EQ(json.at("schema"), "infeed.pace");
    EXPECT_EQ(json.at("ended"), "duration");
    EXPECT_EQ(json.at("accounted_ps"), pace_parts_ps(json));
    EXPECT_EQ(json.at("compute_ps"), json.at("steps").get<std::int64_t>() * 1'200'000'000);
    EXPECT_LE(json.at("overshoot_p50_ns"), json.at("overshoot_p99_ns"));
    EXPECT_LE(json.at("overshoot_p99_ns"), json.at("overshoot_max_ns"));
    EXPECT_GE(json.at("wall_ns").get<double>(), 6e8);
    return ended.out.find("NOT input-bound") != std::string::npos && json.at("steps") > 300 &&
           json.at("accounted_and_wall_apart_percent").get<double>() <= 1.0 &&
           json.at("wall_ns").get<double>() <= 7e8;
  })) << json;
}

TEST(PaceCommand, ASlowSourceIsWaitedForAndItsTimesCanBeReplayed) {
  const TemporaryFolder folder;
  const std::string file = folder.file("pace.json");
  const std::string times = folder.file("times.txt");
  Json json;
  EXPECT_TRUE(holds_in_a_quiet_run([&] {
    const ProgramResult ended =
        run_infeed({"pace", "--step-us", "1000", "--source-us", "3000", "--seconds", "0.2",
                    "--slice", "v3-32", "--json", file, "--service-times", times, "--no-color"});
    EXPECT_EQ(ended.status, 0) << ended.err;
    EXPECT_THAT(ended.out, HasSubstr("v3-32 has 4 hosts; the share of one of them is paced: 8 of "
                                     "32 replicas"));
    json = pace_json(file);
    EXPECT_EQ(json.at("hosts"), 4);
    EXPECT_EQ(json.at("replicas"), 8);
    const std::vector<std::int64_t> ps = tools::parse_service_samples(read_whole(times), times);
    EXPECT_EQ(ps.size(), json.at("steps").get<std::size_t>());
    EXPECT_GE(*std::ranges::min_element(ps), 3'000'000'000);
    return ended.out.find("HIGHLY input-bound") != std::string::npos &&
           json.at("verdict") == "HIGHLY" && json.at("infeed_wait_share") >= 0.5;
  })) << json;
}

TEST(PaceCommand, TakesItsBatchesFromAPipeline) {
  const TemporaryFolder folder;
  const std::string data = folder.file("data.tfrecord");
  RecordWriter writer(data);
  for (int i = 0; i < 60; ++i) {
    ExampleBuilder example;
    example.integers("label", i);
    writer.write(example.encode());
  }
  writer.close();
  const std::string pipeline = folder.write("pipeline.json", fmt::format(
                                                                 R"({{"step_us": 700, "stages": [
           {{"stage": "records", "files": "{}"}},
           {{"stage": "parse", "columns": [{{"name": "label", "dtype": "int64"}}]}},
           {{"stage": "batch", "size": 20}}, {{"stage": "repeat", "count": 2}}]}})",
                                                                 data));
  const std::string file = folder.file("pace.json");
  const ProgramResult ended =
      run_infeed({"pace", "--pipeline", pipeline, "--json", file, "--no-color", "--on-demand"});
  EXPECT_EQ(ended.status, 0) << ended.err;
  EXPECT_THAT(ended.out, HasSubstr("steps of 700 us, batches of "));
  EXPECT_THAT(ended.out, HasSubstr("the data ended after 6 steps"));
  const Json json = pace_json(file);
  EXPECT_EQ(json.at("ended"), "end of data");
  EXPECT_EQ(json.at("examples"), 120);
  EXPECT_EQ(json.at("step_us"), 700);
  EXPECT_EQ(json.at("queue_depth"), 0);
  EXPECT_TRUE(json.at("verdict").is_string());
  const std::string nothing = folder.write("nothing.json", fmt::format(
                                                               R"({{"stages": [
           {{"stage": "records", "files": "{}"}}, {{"stage": "take", "count": 0}},
           {{"stage": "parse", "columns": [{{"name": "label", "dtype": "int64"}}]}},
           {{"stage": "batch", "size": 20}}]}})",
                                                               data));
  EXPECT_EQ(run_infeed({"pace", "--pipeline", nothing, "--json", file}).status, 0);
  EXPECT_EQ(pace_json(file).at("verdict"), nullptr) << "no step was taken";
}

TEST(PaceCommand, PrintsWhatItHasWhenItIsStopped) {
  const TemporaryFolder folder;
  const std::string out = folder.file("out.txt");
  const ProgramResult ended =
      run_infeed({"pace", "--seconds", "3600", "--no-color"},
                 {.stdout_file = out,
                  .send_signal_when = [&] { return read_whole(out).ends_with("made up\n"); },
                  .signal = SIGINT});
  EXPECT_EQ(ended.status, 130) << ended.err;
  EXPECT_THAT(ended.err, HasSubstr("infeed pace: stopped after "));
  EXPECT_LT(ended.seconds_after_signal, kSoonSeconds);
  EXPECT_THAT(read_whole(out), HasSubstr("  overshoot: p50 "));
}

TEST(PaceCommand, SaysWhatIsWrong) {
  const auto refused = [](std::vector<std::string> arguments, const std::string& why) {
    arguments.insert(arguments.begin(), "pace");
    const ProgramResult ended = run_infeed(arguments);
    EXPECT_NE(ended.status, 0);
    EXPECT_THAT(ended.err, HasSubstr(why));
  };
  refused({"--slice", "v3-9"}, "v3-9");
  refused({"--step-us", "0"}, "--step-us");
  refused({"--pipeline", "p.json", "--batch", "8"}, "excludes");
  refused({"--on-demand", "--queue-depth", "8"}, "excludes");
  refused({"--pipeline", "/none.json"}, "no such file");
  refused({"--json", "/none/x.json"}, "/none");
  refused({"--source-us", "2e6", "--seconds", "1"},
          "a batch of 2e+06 us takes longer than the whole run of 1 s");
  refused({"--step-us", "2e6", "--seconds", "1"}, "a step of 2e+06 us takes longer");
}

TEST(ServiceSamples, AreReadAsTheyWereWritten) {
  using tools::parse_service_samples;
  EXPECT_THAT(parse_service_samples(tools::service_samples_text({1'234'567, 20, 0}), "f"),
              ElementsAre(1'234'567'000, 20'000, 0));
  EXPECT_THAT(parse_service_samples("# us\n 5 # the first\r\n\n1e3\n0.000001", "f"),
              ElementsAre(5'000'000, 1'000'000'000, 1));
  const auto message = [](const std::string& text) {
    return error_of([&] { parse_service_samples(text, "f"); }).message();
  };
  EXPECT_EQ(message("5\n-1\n"),
            "line 2 is '-1'; expected how long a batch took, in microseconds: a number from 0 to "
            "1e12");
  EXPECT_THAT(message("5 6"), HasSubstr("line 1 is '5 6'"));
  EXPECT_THAT(message("nan"), HasSubstr("line 1 is 'nan'"));
  EXPECT_THAT(message("# nothing\n"), HasSubstr("there is no service time in it"));
}

}  // namespace
}  // namespace infeed::test
