#include "train/train_pace.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <infeed/device/slice.h>

namespace infeed::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using tools::BatchTimes;
using tools::choose_pace;
using tools::ChosenPace;
using tools::Pace;

Pace pace(const char* name, double step_us) {
  return {.network = name, .step = {.compute_ps = static_cast<std::int64_t>(step_us * 1e6)}};
}

const std::vector<Pace> kPaces = {pace("small", 400), pace("middle", 1200), pace("large", 4300),
                                  pace("huge", 84'000)};

bool yes(const Pace&) { return true; }

TEST(TrainPace, TheShortestStepThatTheTunedPipelineKeepsUpWith) {
  for (const auto& [naive_us, tuned_us, network] :
       {std::tuple(4000.0, 740.0, "middle"), std::tuple(9000.0, 1100.0, "middle"),
        std::tuple(9000.0, 1180.0, "large"), std::tuple(12'000.0, 3500.0, "large"),
        std::tuple(120'000.0, 30'000.0, "huge"), std::tuple(700.0, 100.0, "small")}) {
    const ChosenPace chosen =
        choose_pace(kPaces, {.naive_us = naive_us, .tuned_us = tuned_us}, yes);
    EXPECT_EQ(chosen.pace.network, network) << naive_us << " " << tuned_us;
    EXPECT_TRUE(chosen.fits);
  }
}

TEST(TrainPace, OneThatDoesNotFitWhenItIsTriedIsPassedOver) {
  std::vector<std::string> tried;
  const ChosenPace chosen =
      choose_pace(kPaces, {.naive_us = 9000, .tuned_us = 740}, [&](const Pace& pace) {
        tried.push_back(pace.network);
        return pace.network == "large";
      });
  EXPECT_EQ(chosen.pace.network, "large");
  EXPECT_THAT(tried, ElementsAre("middle", "large"));
}

TEST(TrainPace, WithoutAnyTheNearestIsTakenAndTheReasonSaysSo) {
  const BatchTimes times{.naive_us = 16'000, .tuned_us = 9000};
  const ChosenPace chosen = choose_pace(kPaces, times, yes);
  EXPECT_EQ(chosen.pace.network, "large");
  EXPECT_FALSE(chosen.fits);
  EXPECT_THAT(reason_for(chosen, times),
              ElementsAre("Chosen by measuring: a batch takes the naive pipeline 16,000 us, all "
                          "tricks 9,000 us.",
                          HasSubstr("comes nearest")));
}

TEST(TrainPace, ThereIsAPaceForAnySpeedOfThisKindOfHost) {
  // From idle to ten processes a core: whatever the two pipelines take, some listed network is
  // between them.
  const std::vector<Pace> paces = tools::paces_of(Slice::parse("v3-8"), 1024);
  for (double tuned_us = 300; tuned_us < 5000; tuned_us *= 1.1) {
    EXPECT_TRUE(choose_pace(paces, {.naive_us = 7 * tuned_us, .tuned_us = tuned_us}, yes).fits)
        << tuned_us;
  }
}

}  // namespace
}  // namespace infeed::testing
