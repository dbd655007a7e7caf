#include "tune/tried_settings.h"

#include <string>
#include <vector>

#include "matchers.h"
#include "pipeline/tune/simulated_run.h"

namespace infeed::test {
namespace {

/// Looks as long as the tuner does, and changes nothing.
class Settled final : public TuningPolicy {
  TuningDecision observe(const TuningObservation&) override { return {.is_settled = true}; }
};

std::vector<std::string> texts_of(const std::vector<TuningChange>& changes) {
  std::vector<std::string> texts;
  for (const TuningChange& change : changes) texts.push_back(change.text());
  return texts;
}

TEST(TriedSettings, AreMeasuredReportedAndPutBack) {
  SimulatedRun run;
  run.waits = true;
  run.map_ns = 4e6;
  run.workers = 4;
  run.workers_max = 64;
  run.tuner = detail::try_settings(std::make_shared<Settled>());
  const auto tried = texts_of(run.run(20));
  EXPECT_THAT(tried,
              Contains(HasSubstr("map 4 -> 8: a try; predicted +100 %, got +100 %, rolled back")));
  EXPECT_THAT(tried,
              Contains(HasSubstr("map 4 -> 2: a try; predicted -50 %, got -50 %, rolled back")));
  EXPECT_THAT(tried, Contains(HasSubstr("prefetch depth 2 -> 8: a try; predicted +0 %, got +0 %")));
  EXPECT_THAT(run.notes, Contains("INFEED_TRY: 3 settings were tried for a second each, and put "
                                  "back; the best was map 4 -> 8 with +100 %"));
  EXPECT_EQ(run.workers, 4);
  EXPECT_EQ(run.driver, 1);
  EXPECT_EQ(run.depth, 2);
}

TEST(TriedSettings, AreComparedWithBeforeAndAfter) {
  SimulatedRun run;
  run.waits = true;
  run.workers = run.workers_max = 2;
  run.depth = 4096;
  // A run that slows down all the time: nothing that is tried gains or loses by that.
  run.tuner = detail::try_settings(std::make_shared<Settled>());
  const auto changes = run.run(20, [&run] { run.map_ns *= 1.002; });
  ASSERT_FALSE(changes.empty());
  EXPECT_NEAR(changes[0].rate_after / changes[0].rate_before, 0.5, 0.02) << changes[0].text();
}

TEST(TriedSettings, GiveNoFigureWhileOthersComeAndGo) {
  SimulatedRun run;
  run.tuner = detail::try_settings(std::make_shared<Settled>());
  const auto tried =
      texts_of(run.run(10, [&run] { run.cores_of_others = run.workers == 1 ? 1 : 0; }));
  EXPECT_THAT(tried,
              Contains(HasSubstr("not judged, as other processes came or went; rolled back")));
  EXPECT_EQ(run.workers, 2);
}

TEST(TriedSettings, WaitUntilTheTunerHasSettled) {
  SimulatedRun run;
  run.waits = true;
  run.map_ns = 5e6;
  run.consumer_ns = 500e3;
  run.workers = 4;
  run.workers_max = 64;
  run.tuner = detail::try_settings(make_tuner());
  const auto tried = texts_of(run.run(30));
  ASSERT_GE(tried.size(), 3u);
  EXPECT_THAT(tried[0], HasSubstr("map 4 -> 11: map is the slowest"));
  EXPECT_THAT(tried[1], HasSubstr("a try"));
  EXPECT_EQ(run.workers, 11);
}

TEST(TriedSettings, SayThatThereIsNothingToTry) {
  SimulatedRun run;
  run.tuner = detail::try_settings(std::make_shared<Settled>());
  const auto fixed = [](TuningObservation& seen) {
    for (KnobState& knob : seen.knobs) knob.min = knob.max = knob.value;
  };
  run.run(
      2, [] {}, fixed);
  EXPECT_THAT(run.notes, Contains(HasSubstr("INFEED_TRY: there is nothing to try")));
}

}  // namespace
}  // namespace infeed::test
