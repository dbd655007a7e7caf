#include "profile/outputs/profile_trace.h"

#include <algorithm>
#include <gmock/gmock.h>
#include <map>
#include <nlohmann/json.hpp>
#include <string>

#include "tools/profile/synthetic_run.h"

namespace infeed::test {
namespace {

using Json = nlohmann::json;

std::string trace_of(const SyntheticProfile& profile) {
  std::string text;
  tools::profile_trace(profile.run, profile.report, [&](std::string_view bytes) { text += bytes; });
  return text;
}

/// The events of a phase: "X" slices, "C" counters, "s" and "f" the ends of arrows, "i" instants.
std::vector<Json> events_of(const std::string& text, const std::string& phase) {
  std::vector<Json> events;
  for (const Json& event : Json::parse(text)) {
    if (event["ph"] == phase) events.push_back(event);
  }
  return events;
}

TEST(ProfileTrace, PartsLieInTheirStepAndAddUp) {
  const SyntheticProfile profile = synthetic_profile();
  std::map<std::string, double> us_by_name;
  double step_begin = 0, step_end = 0;
  std::size_t steps = 0;
  for (const Json& slice : events_of(trace_of(profile), "X")) {
    if (slice["tid"] != 1) continue;
    const std::string name = slice["name"];
    const double begin = slice["ts"], end = begin + slice["dur"].get<double>();
    if (name.starts_with("step ")) {
      EXPECT_GE(begin, step_end);
      step_begin = begin;
      step_end = end;
      ++steps;
      continue;
    }
    EXPECT_GE(begin, step_begin);
    EXPECT_LE(end, step_end);
    us_by_name[name] += slice["dur"].get<double>();
  }
  EXPECT_EQ(steps, 400u);
  EXPECT_EQ(us_by_name.size(), 5u);
  EXPECT_DOUBLE_EQ(us_by_name["wait for input"],
                   static_cast<double>(profile.report.infeed_wait_ns) / 1e3);
}

TEST(ProfileTrace, AnArrowLeadsFromTheCallToTheStepThatItMadeLate) {
  const std::string text = trace_of(synthetic_profile());
  const std::vector<Json> from = events_of(text, "s"), to = events_of(text, "f");
  ASSERT_EQ(from.size(), 6u);  // six of ten late steps wait for a known call
  ASSERT_EQ(to.size(), from.size());
  for (std::size_t i = 0; i < from.size(); ++i) {
    EXPECT_EQ(from[i]["id"], to[i]["id"]);
    EXPECT_EQ(to[i]["bp"], "e");
    EXPECT_LT(from[i]["ts"].get<double>(), to[i]["ts"].get<double>());
  }
  const std::vector<Json> slices = events_of(text, "X");
  const auto late = std::find_if(slices.begin(), slices.end(), [](const Json& slice) {
    return slice["name"] == "step 1020 (late)";
  });
  ASSERT_NE(late, slices.end());
  EXPECT_EQ((*late)["args"]["cause"], "slow_read");
  EXPECT_EQ((*late)["args"]["record"], 61);
  EXPECT_EQ((*late)["args"]["offset_bytes"], 48210);
}

TEST(ProfileTrace, CallsOfAThreadThatOverlapGetATrackMore) {
  SyntheticProfile profile = synthetic_profile({.late_every = 0});
  const auto call = [](std::uint64_t begin, std::uint64_t took) {
    return tools::SlowCall{.begin_ns = begin, .took_ns = took, .stage = 2, .thread = 5};
  };
  profile.run.slow_calls = {call(100, 1000), call(200, 300), call(1000, 500), call(1100, 50)};
  std::vector<int> tracks;
  const std::string text = trace_of(profile);
  for (const Json& slice : events_of(text, "X")) {
    if (slice["tid"] != 1) tracks.push_back(slice["tid"]);
  }
  // The last one lies in the third as well as behind the first; the third overlaps with the first.
  EXPECT_THAT(tracks, ::testing::ElementsAre(10, 10, 11, 10));
  EXPECT_THAT(text, ::testing::HasSubstr("\"thread 5 (2)\""));
}

TEST(ProfileTrace, AStepThatBeginsBeforeAnotherOneEndsIsLeftOut) {
  SyntheticProfile profile = synthetic_profile({.steps = 5, .late_every = 0});
  profile.run.steps[2].begin_ns -= 1;
  std::swap(profile.run.steps[3], profile.run.steps[4]);
  std::vector<std::string> steps;
  for (const Json& slice : events_of(trace_of(profile), "X")) {
    const std::string name = slice["name"];
    if (name.starts_with("step ")) steps.push_back(name);
  }
  EXPECT_THAT(steps, ::testing::ElementsAre("step 1000", "step 1001", "step 1003", "step 1004"));
}

TEST(ProfileTrace, HasCountersByStageAndTheTunersChanges) {
  const std::string text = trace_of(synthetic_profile());
  std::map<std::string, int> counters;
  for (const Json& counter : events_of(text, "C")) ++counters[counter["name"]];
  EXPECT_EQ(counters.size(), 14u);
  EXPECT_EQ(counters["map 'augment': rate"], 17);
  EXPECT_EQ(counters["prefetch: queue"], 17);
  EXPECT_EQ(counters.count("batch: queue"), 0u);
  const std::vector<Json> changes = events_of(text, "i");
  ASSERT_EQ(changes.size(), 3u);
  EXPECT_EQ(changes[0]["name"], "map: parallelism 2 -> 4");
}

TEST(ProfileTrace, IsAnEventALineSoThatACutFileOpens) {
  const std::string text = trace_of(synthetic_profile());
  const std::string half = text.substr(0, text.size() / 2);
  const std::string whole_lines = half.substr(0, half.rfind(",\n"));
  EXPECT_GT(Json::parse(whole_lines + "]").size(), 1000u);
}

/// The end failed where the last event had filled the MiB that is written at once.
TEST(ProfileTrace, MayEndWhereverAMebibyteDoes) {
  const auto trace_with = [](std::size_t padding) {
    return trace_of(synthetic_profile({.late_every = 0, .program = std::string(padding, 'x')}));
  };
  const std::string text = trace_with(1);
  constexpr std::size_t kMebibyte = std::size_t{1} << 20;
  ASSERT_LT(text.size(), kMebibyte);
  for (const std::size_t beyond : {1U, 10U, 40U, 80U, 200U}) {
    const std::string padded = trace_with(1 + kMebibyte + beyond - text.size());
    EXPECT_EQ(padded.size(), kMebibyte + beyond);
    EXPECT_EQ(Json::parse(padded).size(), Json::parse(text).size());
  }
}

TEST(ProfileTrace, RunsWithLittleInThemAndNamesOfAnyBytes) {
  EXPECT_EQ(events_of(trace_of({}), "X").size(), 0u);
  EXPECT_EQ(events_of(trace_of(synthetic_profile({.steps = 1, .late_every = 0})), "X").size(), 6u);
  const std::string hostile = "\" </script> \\ \x1b[31m \xff\n";
  const std::string text =
      trace_of(synthetic_profile({.file = hostile, .function = hostile, .program = hostile}));
  EXPECT_EQ(events_of(text, "X").size(), 2406u);
}

}  // namespace
}  // namespace infeed::test
