#include "profile/recorded_run.h"

#include <fmt/format.h>
#include <string>

#include "cli/limits.h"
#include "matchers.h"
#include "profile/outputs/profile_json.h"
#include "profile/run_comparison.h"

namespace infeed::tools {
namespace {

/// Returns the run of a loop that times no steps: rows of number, begin, wait, transfer, compute,
/// all-reduce and idle in ns, and elements.
RecordedRun run_of_pulls(const std::string& rows, bool are_measured = false) {
  return parse_recorded_run(R"({"infeed_recording": 1, "process": 1, "program": "p", "host": "h", )"
                            R"("started_unix_s": 1.5, "slow_after_ns": 1})"
                            "\n"
                            R"({"steps": [)" +
                                rows + R"(], "measured": )" + (are_measured ? "true" : "false") +
                                "}\n",
                            "f");
}

std::vector<std::vector<std::uint64_t>> steps_of(const RecordedRun& run) {
  std::vector<std::vector<std::uint64_t>> steps;
  for (const RecordedStep& step : run.steps) {
    steps.push_back(
        {step.number, step.begin_ns, step.infeed_wait_ns, step.compute_ns, step.elements});
  }
  return steps;
}

TEST(RecordedRun, APullOfSeveralElementsIsAStepForEach) {
  // The pipeline was ahead: three elements of 20 ms came at once, after a wait of 5 ms.
  const RecordedRun run = run_of_pulls(
      "[7, 1000000, 5000000, 0, 60000002, 0, 0, 3], [10, 66000002, 0, 0, 2000000, 0, 0, 1]");
  EXPECT_THAT(steps_of(run), ElementsAre(ElementsAre(7, 1000000, 5000000, 20000001, 1),
                                         ElementsAre(8, 26000001, 0, 20000001, 1),
                                         ElementsAre(9, 46000002, 0, 20000000, 1),
                                         ElementsAre(10, 66000002, 0, 2000000, 1)));
  EXPECT_EQ(run.steps_taken(), 4U);
}

TEST(RecordedRun, StepsOfLessThanAMillisecondStayTogether) {
  const RecordedRun run = run_of_pulls("[0, 0, 0, 0, 2000000, 0, 0, 1001]");
  EXPECT_THAT(steps_of(run), ElementsAre(ElementsAre(0, 0, 0, 1000000, 501),
                                         ElementsAre(501, 1000000, 0, 1000000, 500)));
  EXPECT_EQ(run.steps_taken(), 1001U);
}

/// 558 bytes took all memory.
TEST(RecordedRun, APullIsDividedIntoAsManyStepsAsAPullMayHave) {
  const RecordedRun run = run_of_pulls("[0, 0, 0, 0, 1000000000000000, 0, 0, 1000000000]");
  EXPECT_EQ(run.steps.size(), limits::steps_of_pull);
  EXPECT_EQ(run.steps_taken(), 1'000'000'000U);
  EXPECT_EQ(run.end_ns(), 1'000'000'000'000'000U);
}

/// They were counted as one a millisecond, so that half the speed was no change.
TEST(RecordedRun, CallsOfLessThanAMillisecondAreCountedOneByOne) {
  const auto run_of = [](int calls_of_row) {
    std::string rows;
    for (int i = 0; i < 200; ++i) {
      rows += fmt::format("{}[{}, {}, 500000, 0, 1500000, 0, 0, {}]", i == 0 ? "" : ",",
                          i * calls_of_row, i * 2'000'000, calls_of_row);
    }
    return run_of_pulls(rows);
  };
  const RecordedRun fast = run_of(10);
  const RecordedRun slow = run_of(5);
  EXPECT_EQ(fast.steps.size(), 200U);
  const ProfileReport report = explain(fast);
  EXPECT_DOUBLE_EQ(report.steps_per_s, 5000);
  EXPECT_EQ(profile_json(fast, report)["steps"]["count"], 2000);
  EXPECT_EQ(report.typical_step_ns, 2'000'000U);
  const RunComparison comparison(fast, slow);
  EXPECT_TRUE(comparison.holds("steps_per_s_change_percent < -49"));
  EXPECT_TRUE(comparison.holds("step_ms > 0.39"));
  EXPECT_FALSE(comparison.holds("step_ms > 0.41"));
}

/// A run that still waited for its first batch was "not input-bound".
TEST(RecordedRun, WithoutAStepItsWaitingIsNotKnown) {
  RecordedRun run;
  EXPECT_EQ(explain(run).verdict, "nothing was recorded");
  run.windows.push_back({.length_ns = 5'000'000'000, .cores = 2});
  const ProfileReport report = explain(run);
  EXPECT_EQ(report.verdict,
            "no step was recorded, so it isn't known how long steps wait for input");
  EXPECT_EQ(profile_json(run, report)["input_bound_percent"], nullptr);
}

/// A wait that hasn't ended is in no step, so that a run that hung was "not input-bound".
TEST(RecordedRun, ThatWasCutSaysHowLongItHadNoStep) {
  RecordedRun run;
  run.steps.push_back({.compute_ns = 500'000'000});
  run.windows.push_back({.length_ns = 5'600'000'000, .cores = 2});
  EXPECT_EQ(run.since_last_step_ns(), 5'100'000'000U);
  const std::string verdict = "not input-bound: 0.0 % of the steps' time is waiting for input";
  EXPECT_EQ(explain(run).verdict, verdict) << "it has an end";
  run.is_cut = true;
  EXPECT_EQ(explain(run).verdict, verdict + "; no step ended in the last 5.1 s of the recording");
  run.windows.back().length_ns -= 200'000'000;
  EXPECT_EQ(explain(run).verdict, verdict) << "that is less than ten steps";
  run.windows.clear();
  EXPECT_EQ(run.since_last_step_ns(), 0U);
}

TEST(RecordedRun, AMeasuredStepIsOneHoweverManyElementsItTakes) {
  const RecordedRun run = run_of_pulls("[0, 0, 0, 0, 90000000, 0, 0, 8]", true);
  EXPECT_THAT(steps_of(run), ElementsAre(ElementsAre(0, 0, 0, 90000000, 8)));
  EXPECT_EQ(run.steps_taken(), 1U);
}

}  // namespace
}  // namespace infeed::tools
