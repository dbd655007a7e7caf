#include "profile/run_comparison.h"

#include <algorithm>
#include <cmath>
#include <gtest/gtest.h>
#include <string>

/// Changes between two runs whose figures are known.
namespace infeed::tools {
namespace {

constexpr std::uint64_t kComparedMs = 1'000'000;

/// Steps of 10 ms, of which some wait for so much longer.
RecordedRun run_with_late(std::uint64_t late_steps, std::uint64_t late_ms) {
  RecordedRun run;
  run.has_steps = true;
  std::uint64_t now = 0;
  for (std::uint64_t n = 0; n < 1000; ++n) {
    const bool is_late = n % 20 == 10 && n / 20 < late_steps;
    run.steps.push_back({.number = n,
                         .begin_ns = now,
                         .infeed_wait_ns = is_late ? late_ms * kComparedMs : 0,
                         .compute_ns = 10 * kComparedMs});
    now = run.steps.back().end_ns();
  }
  return run;
}

ComparedFigure figure_of(const RunComparison& comparison, const std::string& name) {
  const auto found = std::ranges::find(comparison.figures(), name, &ComparedFigure::name);
  EXPECT_NE(found, comparison.figures().end()) << name;
  return found == comparison.figures().end() ? ComparedFigure() : *found;
}

/// It was the square root of a number of milliseconds.
TEST(RunComparison, TheNoiseOfLateTimeComesFromTheLateSteps) {
  const RunComparison few(run_with_late(3, 50), run_with_late(5, 50));
  EXPECT_DOUBLE_EQ(figure_of(few, "late_ms").before, 150);
  EXPECT_DOUBLE_EQ(figure_of(few, "late_ms").after, 250);
  EXPECT_NEAR(figure_of(few, "late_ms").noise, 2 * 50 * std::sqrt(8), 1e-9);
  EXPECT_FALSE(figure_of(few, "late_ms").is_changed);
  EXPECT_FALSE(figure_of(few, "late_steps").is_changed);
  const RunComparison many(run_with_late(3, 50), run_with_late(40, 50));
  EXPECT_TRUE(figure_of(many, "late_ms").is_changed);
  EXPECT_TRUE(figure_of(many, "late_steps").is_changed);
}

TEST(RunComparison, ASingleStepShowsNoChange) {
  const RunComparison comparison(run_with_late(1, 50), run_with_late(1, 5000));
  EXPECT_DOUBLE_EQ(figure_of(comparison, "slowest_step_ms").after, 5010);
  EXPECT_FALSE(figure_of(comparison, "slowest_step_ms").is_changed);
  EXPECT_FALSE(figure_of(comparison, "late_ms").is_changed);
}

}  // namespace
}  // namespace infeed::tools
