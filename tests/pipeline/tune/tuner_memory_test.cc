#include "matchers.h"
#include "pipeline/tune/simulated_run.h"

namespace infeed::test {
namespace {

constexpr std::uint64_t kMb = 1'000'000;

/// 100 MB that the program holds itself, and 200 MB that are kept ready.
SimulatedRun buffering_run() {
  SimulatedRun run;
  run.ready_bytes = 200 * kMb;
  run.group_others_bytes = 100 * kMb;
  run.group_limit_bytes = 512 * kMb;
  return run;
}

TEST(TunerMemory, GivesBackWhatIsOnlyKeptReadyWhenTheGroupsLimitShrinks) {
  SimulatedRun run = buffering_run();
  run.run(5);
  EXPECT_THAT(run.notes, IsEmpty());
  run.group_limit_bytes = 256 * kMb;
  run.run(2);
  EXPECT_LE(run.group_bytes(), 230 * kMb);
  EXPECT_GE(run.group_bytes(), 180 * kMb) << "no more than is needed";
  EXPECT_THAT(run.notes, ElementsAre("the control group uses 300 MB of 256 MB: what is kept ready "
                                     "may be 105 MB (200 MB before)"));
}

TEST(TunerMemory, GivesBackMoreWhenTheRestOfTheGroupGrows) {
  SimulatedRun run = buffering_run();
  run.group_limit_bytes = 320 * kMb;
  for (std::uint64_t others = 100 * kMb; others < 250 * kMb; others += 10 * kMb) {
    run.group_others_bytes = others;
    run.run(1);
    EXPECT_LE(run.group_bytes(), 300 * kMb) << others;
  }
}

TEST(TunerMemory, SaysNothingWhereThereIsNothingToGive) {
  SimulatedRun run = buffering_run();
  run.ready_bytes = 0;
  run.group_others_bytes = 510 * kMb;
  run.run(5);
  EXPECT_THAT(run.notes, IsEmpty());
}

TEST(TunerMemory, TakesItAgainWhenThereIsRoom) {
  SimulatedRun run = buffering_run();
  run.group_limit_bytes = 256 * kMb;
  run.run(3);
  EXPECT_LT(run.ready_bytes_max, 200 * kMb);
  run.group_limit_bytes = 1024 * kMb;
  run.run(2);
  EXPECT_EQ(run.ready_bytes_max, UINT64_MAX);
  EXPECT_EQ(run.notes.back(),
            "the control group has room again: what is kept ready may be as before");
  run.group_limit_bytes = 0;
  run.run(2);
  EXPECT_EQ(run.notes.size(), 2u);
}

TEST(TunerMemory, DoesSoInAPauseOfTheConsumer) {
  SimulatedRun run = buffering_run();
  run.run(2);
  run.group_limit_bytes = 256 * kMb;
  TuningObservation quiet = run.window();
  quiet.elements = 0;
  quiet.consumer_wait_ns = 0;
  run.apply(run.tuner->observe(quiet));
  EXPECT_LE(run.group_bytes(), 230 * kMb);
}

TEST(TunerMemory, NotesTheUsersOwnLimit) {
  SimulatedRun run;
  run.memory_limit_bytes = 512 * kMb;
  run.run(2);
  run.memory_limit_bytes = 64 * kMb;
  run.run(2);
  EXPECT_THAT(run.notes, ElementsAre("the limit of memory is 64 MB now (512 MB before)"));
}

}  // namespace
}  // namespace infeed::test
