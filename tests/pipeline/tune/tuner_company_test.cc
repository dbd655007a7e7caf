#include "matchers.h"
#include "pipeline/tune/simulated_run.h"

namespace infeed::test {
namespace {

using ::testing::AnyOf;
using ::testing::Each;
using ::testing::Ge;
using ::testing::Le;
using ::testing::Property;

/// Returns a consumer that trains on the processor: it computes for a millisecond, the map for 0.3.
SimulatedRun training() {
  SimulatedRun run;
  run.map_ns = 300e3;
  run.source_ns = 20e3;
  run.consumer_ns = 1e6;
  return run;
}

/// Returns a map on 16 threads that waits for each element, and a consumer that needs a millisecond.
SimulatedRun with_slack(double map_ns) {
  SimulatedRun run;
  run.waits = true;
  run.map_ns = map_ns;
  run.consumer_ns = 1e6;
  run.workers = run.workers_max = 16;
  return run;
}

TEST(TunerInCompany, NeverCostsAConsumerThatTrainsOnTheProcessor) {
  for (const int neighbours : {0, 1, 2}) {
    SCOPED_TRACE(neighbours);
    SimulatedRun run = training();
    double taken = 0;
    double as_written = 0;
    for (int window = 0; window < 600; ++window) {
      // They come and go every few seconds.
      const bool are_there = window % 70 < 35;
      run.cores_of_others = are_there ? 0.5 * neighbours : 0;
      SimulatedRun untouched = run;
      untouched.workers = 2;
      untouched.driver = 1;
      taken += run.rate();
      as_written += untouched.rate();
      run.run(0.1);
      ASSERT_EQ(run.driver, 1) << "the user wrote a prefetch, after " << window << " windows";
    }
    EXPECT_GT(taken, 0.99 * as_written);
  }
}

TEST(TunerInCompany, GivesNothingBack) {
  SimulatedRun run = training();
  run.cores_of_others = 0.5;
  EXPECT_THAT(run.run(30), IsEmpty());
  run.cores_of_others = 0;
  const auto changes = run.run(10);
  ASSERT_THAT(changes, SizeIs(1)) << "alone there is slack for it";
  EXPECT_THAT(changes[0].text(), HasSubstr("kept"));
  EXPECT_EQ(run.driver, 1);
}

TEST(TunerInCompany, DoesNotConcludeFromWindowsThatAreNotComparable) {
  SimulatedRun run;
  run.hand_over_ns = 300e3;
  run.cores_of_others = 1;
  const auto changes = run.run(4, [&run] {
    if (run.workers == 0) run.cores_of_others = 0;  // they leave while one thread is tried
  });
  ASSERT_FALSE(changes.empty());
  EXPECT_THAT(changes[0].text(),
              HasSubstr("not judged, as other processes came or went; rolled back"));
  EXPECT_EQ(run.workers, 2);
  EXPECT_EQ(run.driver, 1);
}

TEST(TunerInCompany, TriesAgainSoonBehindOneDisturbance) {
  SimulatedRun run;
  run.hand_over_ns = 300e3;
  int windows_alone = 0;
  const auto changes = run.run(8, [&] {
    run.cores_of_others = run.workers == 0 && windows_alone < 10 ? 0 : 1;
    windows_alone += run.cores_of_others == 0;
  });
  ASSERT_THAT(changes, SizeIs(2));
  EXPECT_THAT(changes[0].text(), HasSubstr("not judged"));
  EXPECT_THAT(changes[1].text(), HasSubstr("kept"));
  EXPECT_LT(changes[1].at_seconds - changes[0].at_seconds, 4);
  EXPECT_EQ(run.workers, 0);
}

TEST(TunerInCompany, RestsLongerBehindEachDisturbance) {
  SimulatedRun run;
  run.hand_over_ns = 300e3;
  const auto changes = run.run(60, [&] { run.cores_of_others = run.workers == 0 ? 0 : 1; });
  EXPECT_THAT(changes, Each(Property(&TuningChange::text, HasSubstr("not judged"))));
  EXPECT_THAT(changes.size(), AllOf(Ge(6u), Le(14u)));
}

TEST(TunerInCompany, TriesNoGainThatIsSmallerThanItsErrors) {
  SimulatedRun run;
  run.hand_over_ns = 90e3;  // one thread promises 8 %
  run.cores_of_others = 1;
  const auto changes = run.run(
      20, [] {},
      [](TuningObservation& seen) {
        EXPECT_EQ(seen.knobs[0].value, 2);
        EXPECT_EQ(seen.knobs[1].value, 1);
      });
  EXPECT_THAT(changes, IsEmpty());
}

TEST(TunerInCompany, UndoesWithinASecondWhatCostsHalfOfTheRate) {
  SimulatedRun run;
  run.hand_over_ns = 300e3;
  run.cores_of_others = 1;
  int worse_windows = 0;
  const auto changes = run.run(6, [&] {
    run.map_ns = run.workers == 0 ? 2.7e6 : 1e6;
    worse_windows += run.workers == 0;
  });
  ASSERT_FALSE(changes.empty());
  EXPECT_THAT(changes[0].text(), AnyOf(HasSubstr("got -5"), HasSubstr("got -4")));
  EXPECT_EQ(changes[0].outcome, TuningChange::Outcome::rolled_back);
  EXPECT_THAT(worse_windows, Le(10)) << "windows of 100 ms";
  EXPECT_EQ(run.workers, 2);
}

TEST(TunerSavings, NeedSlackForTheErrorOfTheForecast) {
  for (const double map_ns : {3.5e6, 3.9e6}) {
    SimulatedRun run = with_slack(map_ns);
    run.run(20);
    EXPECT_EQ(run.workers, map_ns < 3.6e6 ? 4 : 5) << "a tenth to spare";
  }
}

TEST(TunerSavings, AreUndoneWithinASecondWhenTheConsumerWaits) {
  SimulatedRun run = with_slack(3e6);
  run.run(10);
  ASSERT_EQ(run.workers, 4);
  run.map_ns = 4.1e6;  // 2.5 % of waiting, and neither another phase nor 7 % of the rate
  const auto changes = run.run(1);
  EXPECT_EQ(run.workers, 16);
  ASSERT_FALSE(changes.empty());
  EXPECT_THAT(changes[0].text(), HasSubstr("map 4 -> 16: what was given back costs after all"));
  EXPECT_EQ(changes[0].outcome, TuningChange::Outcome::kept);
  run.run(20);
  EXPECT_GE(run.workers, 5);
}

TEST(TunerSavings, AreUndoneAlsoWhereThatBringsNothing) {
  SimulatedRun run = with_slack(3e6);
  run.run(10);
  ASSERT_EQ(run.workers, 4);
  run.source_ns = 1.05e6;  // another stage's fault
  run.run(1);
  EXPECT_EQ(run.workers, 16);
}

/// In the first phase the consumer waits most of its time, so only the rate of the second one shows
/// what the second saving costs.
TEST(TunerSavings, AreUndoneAlsoIfTheyWereMadeInALaterPhase) {
  SimulatedRun run = with_slack(3e6);
  run.source_ns = 1e6;
  run.consumer_ns = 300e3;
  run.run(10);
  ASSERT_EQ(run.workers, 4);
  run.source_ns = 100;
  run.consumer_ns = 1e6;
  run.map_ns = 1.3e6;
  run.run(10);
  ASSERT_EQ(run.workers, 2);
  run.map_ns = 2.04e6;  // 2 % of waiting
  run.run(1);
  EXPECT_EQ(run.workers, 16) << "all savings go together";
}

TEST(TunerSavings, AreUndoneAlsoIfNobodyHasJudgedThem) {
  SimulatedRun run = with_slack(3e6);
  run.run(10, [&run] {
    if (run.workers == 4) run.cores = 1;  // which overtakes the trial
  });
  ASSERT_EQ(run.workers, 4);
  run.map_ns = 4.1e6;
  run.run(1);
  EXPECT_EQ(run.workers, 16);
}

TEST(TunerReport, SaysWhatTheTunerTurnedOff) {
  SimulatedRun run;
  run.map_ns = run.source_ns = run.consumer_ns = 5;
  run.hand_over_ns = 100;
  run.run(3);
  EXPECT_THAT(run.verdict, HasSubstr("; the tuner turned off the threads of map, prefetch"));
  SimulatedRun untouched;
  untouched.run(3);
  EXPECT_THAT(untouched.verdict, Not(HasSubstr("turned off")));
}

}  // namespace
}  // namespace infeed::test
