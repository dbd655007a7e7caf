#include <cstdio>
#include <fmt/format.h>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include "matchers.h"
#include "profile/outputs/profile_json.h"
#include "profile/outputs/profile_text.h"
#include "profile/recorded_service.h"
#include "profile/run_comparison.h"
#include "tools/profile/made_recording.h"

/// A recording that outgrew its limit has all of its newer half, and only late steps of the older.
namespace infeed::tools {
namespace {

constexpr std::int64_t kOutgrownPsOfMs = 1'000'000'000;
constexpr std::uint64_t kOutgrownLateNs = 15'000'000;  ///< the step takes 10 ms

/// Each tenth batch of the older half takes so long that the step waits, and few of the newer.
RecordedRun whole_recording() {
  std::vector<std::int64_t> times(2000, 8 * kOutgrownPsOfMs);
  for (std::size_t i = 15; i < 1000; i += 10) times[i] = 60 * kOutgrownPsOfMs;
  for (std::size_t i = 1050; i < 2000; i += 100) times[i] = 60 * kOutgrownPsOfMs;
  return test::recording_of({.service_ps = times});
}

class OutgrownRecording : public ::testing::Test {
 protected:
  OutgrownRecording() : whole_(whole_recording()), from_ns_(whole_.windows.at(50).begin_ns) {
    newer_ = whole_;
    newer_.cores = newer_.windows.front().cores;
    std::erase_if(newer_.windows, [this](const auto& one) { return one.begin_ns < from_ns_; });
    std::erase_if(newer_.steps, [this](const auto& one) { return one.begin_ns < from_ns_; });
    RecordedRun kept = newer_;
    kept.steps = whole_.steps;
    std::erase_if(kept.steps, [this](const RecordedStep& step) {
      return step.begin_ns < from_ns_ && step.length_ns() <= kOutgrownLateNs;
    });
    older_late_ = kept.steps.size() - newer_.steps.size();
    std::string text = test::recording_text(kept);
    std::size_t at = 0;
    for (std::size_t i = 0; i < older_late_; ++i) {
      at = text.find("{\"steps\"", at);
      text.replace(at, 2, "{\"late_");
    }
    left_ = parse_recorded_run(late_steps_first(text), "left.profile");
  }
  /// The lines of late steps stand before the windows that are left, as these are newer.
  static std::string late_steps_first(const std::string& text) {
    std::string begin, late, others;
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) {
      const bool is_late = line.starts_with("{\"late_steps\"");
      const bool is_window = line.starts_with("{\"window\"");
      (is_late ? late : others.empty() && !is_window ? begin : others) += line + '\n';
    }
    return begin + late + others;
  }

  const RecordedRun whole_;
  const std::uint64_t from_ns_;
  RecordedRun newer_;           ///< the newer half alone
  std::size_t older_late_ = 0;  ///< late steps of the older half
  RecordedRun left_;            ///< as the file is read
};

/// 45 % of the time seemed to be waiting for input, and were 8 %.
TEST_F(OutgrownRecording, RatesAndSharesAreOfTheNewerHalf) {
  ASSERT_GT(older_late_, 50U);
  EXPECT_EQ(left_.detail_from_ns, from_ns_);
  EXPECT_EQ(left_.steps_taken(), newer_.steps.size());
  const ProfileReport report = explain(left_);
  const ProfileReport expected = explain(newer_);
  EXPECT_DOUBLE_EQ(report.input_bound_percent, expected.input_bound_percent);
  EXPECT_DOUBLE_EQ(report.steps_per_s, expected.steps_per_s);
  EXPECT_EQ(report.typical_step_ns, expected.typical_step_ns);
  ASSERT_EQ(report.what_ifs.size(), expected.what_ifs.size());
  for (std::size_t i = 0; i < report.what_ifs.size(); ++i) {
    EXPECT_DOUBLE_EQ(report.what_ifs[i].predicted_gain, expected.what_ifs[i].predicted_gain);
  }
  EXPECT_EQ(recorded_service(left_).ps, recorded_service(newer_).ps);
  const RunComparison comparison(newer_, left_);
  for (const ComparedFigure& figure : comparison.figures()) {
    if (figure.name == "slowest_step_ms") continue;
    EXPECT_DOUBLE_EQ(figure.before, figure.after) << figure.name;
  }
}

TEST_F(OutgrownRecording, OlderLateStepsAreListed) {
  const ProfileReport report = explain(left_);
  EXPECT_EQ(report.late_steps.size(), explain(newer_).late_steps.size() + older_late_);
  EXPECT_EQ(report.late_steps.front().begin_ns, left_.steps.front().begin_ns);
  const auto json = profile_json(left_, report);
  EXPECT_EQ(json["steps"]["count"], newer_.steps.size());
  EXPECT_EQ(json["run"]["detail_from_ns"], from_ns_);
  const std::uint64_t windows_ns = newer_.end_ns() - from_ns_;
  EXPECT_EQ(json["run"]["windows_ns"], windows_ns);
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> nowhere(std::fopen("/dev/null", "w"),
                                                                &std::fclose);
  std::string text;
  for (const std::string& line : profile_text(left_, report, Terminal(nowhere.get()))) {
    text += line + " ";
  }
  EXPECT_THAT(text, HasSubstr("1,000 steps in the last "));
  EXPECT_THAT(text, HasSubstr("older steps are kept only where they were late"));
  EXPECT_THAT(text, HasSubstr(" of 1,000 steps were late, and "));
  // The map works nearly all the time.
  const double share =
      static_cast<double>(report.stages.at(2).cpu_ns) / static_cast<double>(windows_ns);
  EXPECT_THAT(text, HasSubstr(fmt::format("{:.0f} %", 100 * share)));
}

TEST_F(OutgrownRecording, AWholeOneHasAllSteps) {
  const RecordedRun read = parse_recorded_run(test::recording_text(whole_), "whole.profile");
  EXPECT_EQ(read.detail_from_ns, 0U);
  EXPECT_EQ(read.detailed_steps().size(), 2000U);
}

}  // namespace
}  // namespace infeed::tools
