#include "matchers.h"
#include "pipeline/tune/simulated_run.h"

namespace infeed::test {
namespace {

TEST(Tuner, GivesAFunctionThatWaitsAsManyThreadsAsTheConsumerNeeds) {
  SimulatedRun run;
  run.waits = true;
  run.map_ns = 5e6;
  run.consumer_ns = 500e3;  // 2,000 elements/s
  run.workers = 4;
  run.workers_max = 64;
  const auto changes = run.run(3);
  ASSERT_FALSE(changes.empty());
  EXPECT_EQ(changes[0].text(),
            "  0.2 s  map 4 -> 11: map is the slowest; predicted +150 %, got +150 %, kept");
  EXPECT_GE(run.workers, 10);
  EXPECT_LE(run.workers, 13);
  EXPECT_GT(run.rate(), 1990);
  EXPECT_THAT(run.verdict, HasSubstr("the consumer is slower than the pipeline"));
}

TEST(Tuner, LeavesAFunctionThatComputesOnAllCores) {
  SimulatedRun run;
  run.run(5);
  EXPECT_EQ(run.workers, 2);
  EXPECT_GT(run.rate(), 1990);
  EXPECT_THAT(run.verdict,
              HasSubstr("not tunable: all 2 cores are busy, at most 2,000 elements/s"));
}

TEST(Tuner, TakesAThreadForEachCoreWhereStagesDivideSo) {
  for (const bool is_slower : {false, true}) {
    SimulatedRun run;
    run.source_ns = run.map_ns = 1e6;
    const auto changes = run.run(20, [&] {
      if (is_slower) run.map_ns = run.workers == 2 ? 1e6 : 1.2e6;
    });
    ASSERT_THAT(changes, SizeIs(1));
    EXPECT_THAT(changes[0].text(),
                HasSubstr("map 2 -> 1: all 2 cores are what bounds it; predicted +0 %, got "));
    EXPECT_EQ(changes[0].outcome,
              is_slower ? TuningChange::Outcome::rolled_back : TuningChange::Outcome::kept);
    EXPECT_EQ(run.workers, is_slower ? 2 : 1);
  }
}

TEST(Tuner, GivesThreadsBackToASlowConsumerWithinFiveSeconds) {
  SimulatedRun run;
  run.waits = true;
  run.map_ns = 1e6;
  run.consumer_ns = 1e6;
  run.workers = run.workers_max = 64;
  run.run(5);
  EXPECT_LE(run.workers, 2);
  EXPECT_GT(run.rate(), 990);
}

TEST(Tuner, TriesNoSavingOfNextToNothing) {
  for (const std::int64_t workers : {7, 16}) {
    SimulatedRun run;
    run.waits = true;
    run.map_ns = 5e6;
    run.consumer_ns = 1e6;  // five calls in flight keep up, six have some to spare
    run.workers = workers;
    run.workers_max = 64;
    run.driver = 0;
    run.run(30);
    EXPECT_EQ(run.workers, workers == 7 ? 7 : 6);
  }
}

TEST(Tuner, TakesTheSerialFormWhereHandingOverCostsMore) {
  SimulatedRun run;
  run.map_ns = run.source_ns = run.consumer_ns = 5;
  run.hand_over_ns = 100;
  const auto changes = run.run(3);
  ASSERT_FALSE(changes.empty());
  EXPECT_THAT(changes[0].text(),
              HasSubstr("map 2 -> serial, prefetch 1 -> serial: handing elements "
                        "over costs more than it brings; predicted"));
  EXPECT_EQ(changes[0].outcome, TuningChange::Outcome::kept);
  EXPECT_EQ(run.workers + run.driver, 0);
}

TEST(Tuner, TakesBackWhatTurnsOutWorse) {
  SimulatedRun run;
  run.waits = true;
  run.workers = 2;
  run.workers_max = 64;
  // A lock in the function: more threads make it slower.
  const auto finished = run.run(5, [&run] { run.map_ns = run.workers > 2 ? 40e6 : 1e6; });
  ASSERT_FALSE(finished.empty());
  EXPECT_EQ(finished[0].outcome, TuningChange::Outcome::rolled_back);
  EXPECT_EQ(run.workers, 2);
  EXPECT_THAT(finished, SizeIs(::testing::Le(3u))) << "it goes on trying";
}

TEST(Tuner, KeepsNoThreadsThatBringLittleOfWhatWasForetold) {
  SimulatedRun run;
  run.waits = true;
  run.map_ns = 10e6;
  run.workers = 2;
  run.workers_max = 64;
  // The storage serves 205 calls a second, however many wait.
  const auto finished = run.run(5, [&run] {
    run.map_ns = run.workers > 2 ? static_cast<double>(run.workers) * 1e9 / 205 : 10e6;
  });
  ASSERT_FALSE(finished.empty());
  EXPECT_EQ(finished[0].outcome, TuningChange::Outcome::rolled_back) << finished[0].text();
  EXPECT_EQ(run.workers, 2);
}

TEST(Tuner, ForetellsNoMoreThanTheConsumerTakes) {
  SimulatedRun run;
  run.waits = true;
  run.map_ns = 5e6;
  run.consumer_ns = 1e6;
  run.workers = 5;
  run.workers_max = 64;
  const auto slower_than_it_is = [](TuningObservation& seen) {
    seen.stages[1].blocked_ns += seen.stages[1].blocked_ns / 4;
  };
  for (const TuningChange& change : run.run(
           20, [] {}, slower_than_it_is)) {
    EXPECT_LE(change.rate_predicted, 1010) << change.text();
  }
  EXPECT_EQ(run.workers, 5);
}

TEST(Tuner, AnswersAPhaseChangeWithinTwoSeconds) {
  SimulatedRun run;
  run.map_ns = 50e3;
  run.run(5);
  run.waits = true;
  run.map_ns = 2e6;
  run.workers_max = 64;
  run.run(2);
  EXPECT_GE(run.workers, 32);
}

TEST(Tuner, TakesBurstsForNoPhases) {
  SimulatedRun run;
  run.map_ns = 50e3;
  run.consumer_ns = 200e3;
  std::size_t phases_at_first = 0;
  std::size_t changes = 0;  // later
  for (int second = 0; second < 60; ++second) {
    for (int window = 0; window < 10; ++window) {
      // The source stalls for 400 ms of each second.
      run.source_ns = window < 4 ? 400e3 : 100;
      const std::size_t finished = run.run(0.1).size();
      if (second > 20) changes += finished;
    }
    if (second == 20) phases_at_first = run.notes.size();
  }
  EXPECT_LE(run.notes.size() - phases_at_first, 2u) << "of 40 bursts";
  EXPECT_LE(changes, 1u);
}

TEST(Tuner, UsesFewerThreadsWhenTheQuotaIsCut) {
  SimulatedRun run;
  run.run(5);
  run.cores = 1;
  run.run(2);
  EXPECT_LE(run.workers, 1);
  EXPECT_THAT(run.notes, ElementsAre("the process may use 1 cores now (2 before)"));
}

TEST(Tuner, GoesBackToThreadsWhenOthersGiveTheirCoreBack) {
  SimulatedRun run;
  run.hand_over_ns = 300e3;
  run.cores_of_others = 1;
  run.run(3);
  EXPECT_EQ(run.workers, 0);
  run.cores_of_others = 0;
  run.run(3);
  EXPECT_EQ(run.workers, 2);
}

TEST(Tuner, LearnsNothingFromAnEvaluationPause) {
  SimulatedRun run;
  run.run(5);
  const std::int64_t workers = run.workers;
  for (int i = 0; i < 50; ++i) {
    TuningObservation quiet = run.window();
    quiet.elements = 0;
    quiet.consumer_wait_ns = 0;
    for (StageObservation& stage : quiet.stages)
      stage = {stage.label, stage.consumer, stage.inside};
    const TuningDecision decision = run.tuner->observe(quiet);
    EXPECT_THAT(decision.settings, IsEmpty());
    EXPECT_FALSE(decision.begun);
  }
  run.run(2);
  EXPECT_EQ(run.workers, workers);
}

TEST(Tuner, GivesAVerdictOnASerialStage) {
  SimulatedRun run;
  run.map_ns = 1000;
  run.source_ns = 41'000;
  run.run(3);
  EXPECT_EQ(run.verdict,
            "not tunable: range is serial at 41 us an element; at most 24,400 elements/s");
}

/// Returns the verdict if a pass of the map takes so many bytes.
std::string verdict_with_passes_of(std::uint64_t bytes, std::uint64_t limit_bytes) {
  SimulatedRun run;
  std::string verdict;
  for (int i = 0; i < 30; ++i) {
    TuningObservation seen = run.window();
    seen.memory_limit_bytes = limit_bytes;
    seen.stages[1].pass_bytes = bytes;
    seen.stages[2].pass_bytes = 1000;
    const TuningDecision decision = run.tuner->observe(seen);
    run.apply(decision);
    if (!decision.verdict.empty()) verdict = decision.verdict;
  }
  return verdict;
}

TEST(Tuner, ProposesACacheWhereItWouldHelp) {
  EXPECT_THAT(
      verdict_with_passes_of(12'000'000, 0),
      ::testing::MatchesRegex("not tunable: all 2 cores are busy.*; a cache\\(\\) behind map "
                              "would give up to \\+[0-9]+ % for about 12 MB"));
  EXPECT_THAT(verdict_with_passes_of(12'000'000, 8'000'000), Not(HasSubstr("cache")))
      << "it has no room; that behind range saves nothing";
  EXPECT_THAT(verdict_with_passes_of(0, 0), Not(HasSubstr("cache")));
}

TEST(Tuner, NeverTouchesWhatTheUserHasFixed) {
  SimulatedRun run;
  run.waits = true;
  for (int i = 0; i < 30; ++i) {
    TuningObservation seen = run.window();
    for (KnobState& knob : seen.knobs) knob.min = knob.max = knob.value;
    const TuningDecision decision = run.tuner->observe(seen);
    EXPECT_THAT(decision.settings, IsEmpty());
    if (!decision.verdict.empty()) run.verdict = decision.verdict;
  }
  EXPECT_EQ(run.verdict, "map is fixed at 2 workers, which is what bounds it (2,000 elements/s)");
}

TEST(Tuner, ShrinksABufferThatIsNeverUsed) {
  SimulatedRun run;
  run.depth = 1024;
  run.depth_low = 900;
  run.consumer_ns = 2e6;
  run.run(10);
  EXPECT_LE(run.depth, 256);
}

TEST(Tuner, BeginsWithWhatAnEarlierRunHasLearnt) {
  SimulatedRun first;
  first.waits = true;
  first.map_ns = 5e6;
  first.consumer_ns = 500e3;
  first.workers = 4;
  first.workers_max = 64;
  first.run(5);
  ASSERT_THAT(first.profile, HasSubstr("infeed tuning 1\ncores 2\n"));

  SimulatedRun second = first;
  second.workers = 4;
  second.tuner = make_tuner(first.profile);
  second.apply(second.tuner->observe(second.window()));
  EXPECT_EQ(second.workers, first.workers);
  EXPECT_THAT(second.run(5), SizeIs(::testing::Le(1u)));
}

TEST(Tuner, DropsAProfileThatIsStale) {
  SimulatedRun run;
  run.map_ns = 5e6;
  run.tuner = make_tuner("infeed tuning 1\ncores 2\ntime 1000000 map\nworkers 1 map\n");
  run.apply(run.tuner->observe(run.window()));
  EXPECT_EQ(run.workers, 1);
  run.run(1);
  EXPECT_EQ(run.workers, 2);
  EXPECT_THAT(
      run.notes,
      ElementsAre("the profile is stale and dropped: map takes 5 ms an element now (1 ms then)"));
}

TEST(Tuner, KeepsAProfileOfAStageThatHasNotWorkedYet) {
  SimulatedRun run;
  run.map_ns = 5e6;
  run.source_ns = 0;
  run.tuner =
      make_tuner("infeed tuning 1\ncores 2\ntime 3550 range\ntime 5000000 map\nworkers 1 map\n");
  run.run(1);
  EXPECT_THAT(run.notes, IsEmpty());
}

TEST(Tuner, LeavesTheProfileOfAnotherMachineAside) {
  SimulatedRun run;
  run.tuner = make_tuner("infeed tuning 1\ncores 96\nworkers 1 map\n");
  run.run(0.2);
  EXPECT_EQ(run.workers, 2);
  EXPECT_THAT(run.notes, ElementsAre(HasSubstr("of a machine with 96 cores, and there are 2")));
}

TEST(Tuner, TakesNoHarmFromAProfileThatIsNone) {
  for (const char* text : {"x", "infeed tuning 1\nworkers 1e300 map\nworkers\n\ncores nan\n",
                           "infeed tuning 1\nworkers -5 map\ndepth 0 prefetch\n"}) {
    SimulatedRun run;
    run.tuner = make_tuner(text);
    run.run(1);
    EXPECT_GT(run.rate(), 0);
  }
}

TEST(Tuner, OnlyAdvises) {
  SimulatedRun run;
  run.waits = true;
  run.workers_max = 64;
  run.tuner = make_tuner({}, /*only_advises=*/true);
  std::vector<std::string> advice;
  for (int i = 0; i < 50; ++i) {
    const TuningDecision decision = run.tuner->observe(run.window());
    EXPECT_THAT(decision.settings, IsEmpty());
    if (decision.begun) advice.push_back(decision.begun->text());
  }
  ASSERT_FALSE(advice.empty());
  EXPECT_THAT(advice[0], HasSubstr("map 2 -> 64: map is the slowest; predicted "
                                   "+3100 %, advised"));
  EXPECT_THAT(advice, SizeIs(::testing::Le(2u))) << "it is said once";
}

}  // namespace
}  // namespace infeed::test
