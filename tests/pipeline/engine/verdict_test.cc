#include <infeed/pipeline/statistics.h>

#include "matchers.h"

// The sentence depends only on the figures; nothing runs here.
namespace infeed::test {
namespace {

constexpr std::uint64_t kSecond = 1'000'000'000;

/// Returns `share` of a second.
std::uint64_t part(double share) { return static_cast<std::uint64_t>(share * kSecond); }

/// A stage that works for a share of the second, all of it on a core.
StageStatistics stage(std::string name, double work) {
  StageStatistics figures;
  figures.traits = {.has_parallelism = name == "map" || name == "records",
                    .reads_files = name == "records"};
  figures.name = figures.label = std::move(name);
  figures.elements = 1000;
  figures.work_ns = part(work);
  figures.cpu_ns = figures.work_ns;
  figures.blocked_ns = 0;
  return figures;
}

StageStatistics prefetch_stage() {
  StageStatistics figures = stage("prefetch", 0);
  figures.runs_ahead = true;
  return figures;
}

/// A second of stages, each of which pulls the next one, on four cores.
PipelineStatistics chain(std::vector<StageStatistics> stages, double consumer_wait = 1) {
  for (std::size_t i = 0; i < stages.size(); ++i) {
    stages[i].consumer = stages[i].depth = static_cast<int>(i) - 1;
    ++stages[i].depth;
  }
  return {.stages = std::move(stages),
          .elapsed_ns = kSecond,
          .consumer_wait_ns = part(consumer_wait),
          .process_cpu_ns = kSecond,
          .cores = 4};
}

TEST(Verdict, IsPutOffWhileThereIsTooLittleToSee) {
  PipelineStatistics statistics = chain({stage("range", 1)});
  statistics.elapsed_ns = 3'500'000;
  EXPECT_EQ(statistics.verdict(), "it is too early to tell: 3.5 ms have gone by");
  EXPECT_EQ(PipelineStatistics().verdict(), "it is too early to tell: 0.0 ms have gone by");
  statistics.elapsed_ns = 9'999'999;
  EXPECT_EQ(statistics.verdict(), "it is too early to tell: 10.0 ms have gone by");
  statistics.elapsed_ns = 10'000'000;
  EXPECT_THAT(statistics.verdict(), Not(HasSubstr("too early")));
  EXPECT_EQ(PipelineStatistics{.elapsed_ns = kSecond}.verdict(),
            "it is too early to tell: 1000.0 ms have gone by");
}

/// The figures at which one sentence gives way to another.
TEST(Verdict, TheBoundsAreWhereTheyAreSaidToBe) {
  EXPECT_THAT(chain({prefetch_stage(), stage("map", 0.5)}, 0.05).verdict(),
              HasSubstr("map takes 50 % of the time on one thread"));
  EXPECT_THAT(chain({prefetch_stage(), stage("map", 0.49)}).verdict(),
              HasSubstr("no thread of the pipeline is busy for more than 49 % of the time"));
  EXPECT_THAT(chain({stage("map", 0.25)}, 0.5).verdict(),
              HasSubstr("the pipeline (25 % of the time) and its consumer (50 %) take turns"));
  EXPECT_THAT(chain({stage("map", 0.2)}, 0.5).verdict(),
              HasSubstr("no thread of the pipeline is busy for more than 20 % of the time"));
  EXPECT_THAT(chain({prefetch_stage(), stage("map", 0.6)}, 0.5).verdict(),
              HasSubstr("map takes 60 % of the time on one thread"))
      << "it has a thread of its own";
  PipelineStatistics busy = chain({prefetch_stage(), stage("map", 0.9)});
  busy.process_cpu_ns = 3'600'000'000;
  EXPECT_THAT(busy.verdict(), HasSubstr("all 4 cores are busy, and map takes 25 % of that"));
  busy.process_cpu_ns = 3'599'999'999;
  EXPECT_THAT(busy.verdict(), HasSubstr("map takes 90 % of the time on one thread"));
}

TEST(Verdict, OfEquallyBusyOnesTheFirstIsNamed) {
  EXPECT_THAT(chain({prefetch_stage(), stage("batch", 0.4), stage("shuffle", 0.4)}).verdict(),
              HasSubstr("batch takes 40 % of the time on one thread"));
  EXPECT_THAT(chain({stage("batch", 0.6), prefetch_stage(), stage("map", 0.6)}).verdict(),
              HasSubstr("batch takes 60 % of the time on one thread"));
}

TEST(Verdict, ASlowConsumerNeedsNothing) {
  EXPECT_EQ(chain({prefetch_stage(), stage("map", 0.9)}, 0.04).verdict(),
            "the consumer is slower than the pipeline (it waited 4 % of the time): there is "
            "nothing to tune here");
  EXPECT_THAT(chain({prefetch_stage(), stage("map", 0.9)}, 0.06).verdict(), HasSubstr("map takes"));
}

TEST(Verdict, NothingCanBeSaidOfAStageThatHasNotReturnedYet) {
  PipelineStatistics statistics = chain({stage("map", 0)});
  statistics.stages.front().elements = 0;
  EXPECT_EQ(statistics.verdict(),
            "no element has come yet: a call that is under way counts once it returns; "
            "IterateOptions::watchdog says who waits for whom");
}

TEST(Verdict, ASlowMapIsGivenParallelism) {
  StageStatistics slow = stage("map", 0.78);
  slow.label = "map[1] 'augment'";
  EXPECT_EQ(chain({prefetch_stage(), stage("batch", 0.1), slow, stage("range", 0.02)}).verdict(),
            "map[1] 'augment' takes 78 % of the time on one thread: give it .parallelism = "
            "infeed::autotune");
}

TEST(Verdict, ThreadsOfAParallelMapShareItsWork) {
  StageStatistics slow = stage("map", 1.9);
  slow.runs_ahead = true;
  slow.parallelism = 2;
  // The stage before it is busy for 60 % of the time, its two threads for 95 %.
  EXPECT_EQ(chain({prefetch_stage(), slow, stage("records", 0.6)}).verdict(),
            "map keeps 2 threads busy for 95 % of the time: raise the .parallelism of map (now 2, "
            "and there are 4 cores)");
  slow.work_ns = part(1.0);
  EXPECT_THAT(chain({prefetch_stage(), slow, stage("records", 0.6)}).verdict(),
              HasSubstr("records takes 60 % of the time on one thread: give it .parallelism, or"));
}

TEST(Verdict, AStageWithoutThreadsThatSharesOneGetsItsOwn) {
  EXPECT_EQ(
      chain({prefetch_stage(), stage("batch", 0.3), stage("shuffle", 0.5), stage("range", 0.2)})
          .verdict(),
      "shuffle takes 50 % of the time on one thread: put infeed::prefetch() before and behind it, "
      "so that it has a thread of its own");
  EXPECT_EQ(chain({prefetch_stage(), stage("shuffle", 0.97)}).verdict(),
            "shuffle takes 97 % of the time on one thread: make it cheaper, or cache() what it "
            "gives");
}

TEST(Verdict, APipelineInItsConsumersThreadIsMovedOutOfIt) {
  EXPECT_EQ(chain({stage("batch", 0.1), stage("map", 0.3)}, 0.4).verdict(),
            "the pipeline (40 % of the time) and its consumer (60 %) take turns in one thread: end "
            "the pipeline with infeed::prefetch(), so that they run side by side");
  // Not when that would gain little: the map limits the rate.
  EXPECT_THAT(chain({stage("batch", 0.1), stage("map", 0.8)}, 0.9).verdict(),
              HasSubstr("map takes 80 % of the time on one thread: give it .parallelism"));
}

TEST(Verdict, WaitingIsToldFromComputing) {
  StageStatistics files = stage("records", 0.9);
  files.cpu_ns = part(0.18);
  files.blocked_ns = part(0.72);
  EXPECT_EQ(chain({prefetch_stage(), files}).verdict(),
            "records takes 90 % of the time on one thread, 80 % of which it waits for storage or a "
            "core (which one can't be told): read several files at once with infeed::interleave "
            "and .parallelism");
  StageStatistics asks = stage("map", 0.9);
  asks.cpu_ns = 0;
  asks.blocked_ns = asks.work_ns;
  EXPECT_THAT(chain({prefetch_stage(), asks}).verdict(),
              HasSubstr("100 % of which it waits for storage, a lock, a sleep or a core (which one "
                        "can't be told): give it .parallelism = infeed::autotune"));
  // Half of the time is not enough to call it waiting.
  asks.blocked_ns = asks.work_ns / 2;
  asks.cpu_ns = asks.work_ns / 2;
  EXPECT_EQ(chain({prefetch_stage(), asks}).verdict(),
            "map takes 90 % of the time on one thread: give it .parallelism = infeed::autotune");
  // Nothing is said without measurements.
  asks.cpu_ns = asks.blocked_ns = std::nullopt;
  EXPECT_EQ(chain({prefetch_stage(), asks}).verdict(),
            "map takes 90 % of the time on one thread: give it .parallelism = infeed::autotune");
}

/// Returns the stage as one that waits all the time that it takes.
StageStatistics blocked(StageStatistics figures) {
  figures.cpu_ns = 0;
  figures.blocked_ns = figures.work_ns;
  return figures;
}

TEST(Verdict, WhatHelpsAStageThatWaitsDependsOnItsKind) {
  StageStatistics parallel = blocked(stage("map", 1.8));
  parallel.runs_ahead = true;
  parallel.parallelism = 2;
  EXPECT_EQ(chain({parallel}).verdict(),
            "map keeps 2 threads busy for 90 % of the time, 100 % of which it waits for storage, a "
            "lock, a sleep or a core (which one can't be told): raise its .parallelism (now 2)");
  EXPECT_THAT(chain({prefetch_stage(), blocked(stage("filter", 0.9))}).verdict(),
              HasSubstr(": put what it waits for into a map with .parallelism"));
  StageStatistics decoding = blocked(stage("records", 0.9));
  decoding.parallelism = 1;
  EXPECT_THAT(chain({prefetch_stage(), decoding}).verdict(),
              HasSubstr("it waits for storage or a core (which one can't"));
  decoding.parallelism = 2;
  EXPECT_THAT(chain({prefetch_stage(), decoding}).verdict(),
              HasSubstr("it waits for storage or the threads that decode for it (which one can't"));
}

TEST(Verdict, WhatHelpsAStageThatComputesDependsOnItsKind) {
  StageStatistics reads = stage("lines", 0.9);
  reads.traits.reads_files = true;
  EXPECT_EQ(chain({prefetch_stage(), reads}).verdict(),
            "lines takes 90 % of the time on one thread: read several files at once with "
            "infeed::interleave and .parallelism");
  EXPECT_EQ(chain({prefetch_stage(), stage("shuffle", 0.9), stage("range", 0.1)}).verdict(),
            "shuffle takes 90 % of the time on one thread: make it cheaper, or cache() what it "
            "gives");
  StageStatistics on_all_cores = stage("map", 3.0);
  on_all_cores.runs_ahead = true;
  on_all_cores.parallelism = 4;
  EXPECT_EQ(chain({on_all_cores}).verdict(),
            "map keeps 4 threads busy for 75 % of the time: make it cheaper, or cache() what it "
            "gives");
  StageStatistics serial = stage("map", 0.9);
  serial.runs_ahead = true;
  serial.parallelism = 0;  // its consumer does the work
  EXPECT_EQ(chain({serial}).verdict(),
            "map takes 90 % of the time on one thread: give it .parallelism = infeed::autotune");
}

TEST(Verdict, TheReadersOfAnInterleaveShareItsInnerStages) {
  StageStatistics reads = stage("interleave", 0.1);
  reads.runs_ahead = true;
  reads.parallelism = 4;
  StageStatistics inner = stage("records", 3.6);
  inner.cpu_ns = part(0.4);
  inner.blocked_ns = part(3.2);
  PipelineStatistics statistics = chain({reads, stage("files", 0.5), inner});
  statistics.stages[2].consumer = statistics.stages[2].inside = 0;
  EXPECT_EQ(statistics.verdict(),
            "records (in interleave) keeps 4 threads busy for 90 % of the time, 89 % of which it "
            "waits for storage or a core (which one can't be told): raise the .parallelism (now 4) "
            "and .cycle_length of interleave");
}

TEST(Verdict, WithoutAFreeCoreOnlyLessWorkHelps) {
  StageStatistics slow = stage("map", 3.0);
  slow.runs_ahead = true;
  slow.parallelism = 4;
  PipelineStatistics statistics = chain({slow, stage("records", 0.4)});
  statistics.process_cpu_ns = part(3.8);
  EXPECT_EQ(statistics.verdict(),
            "all 4 cores are busy, and map takes 79 % of that: make it cheaper, cache() what it "
            "gives, or use more cores");
  statistics = chain({prefetch_stage(), stage("map", 0.9)});
  statistics.cores = 1;
  EXPECT_THAT(statistics.verdict(), HasSubstr("the only core is busy, and map takes 90 % of that"));
}

TEST(Verdict, AStageWithoutMeasurementsHasNoPartInBusyCores) {
  StageStatistics seen = stage("map", 0.9);
  seen.cpu_ns = 0;
  StageStatistics unseen = stage("range", 0.01);
  unseen.cpu_ns = unseen.blocked_ns = std::nullopt;
  PipelineStatistics statistics = chain({prefetch_stage(), seen, unseen});
  statistics.process_cpu_ns = part(4);
  EXPECT_THAT(statistics.verdict(), HasSubstr("and prefetch takes 0 % of that"))
      << "the first of equal ones";
  statistics.stages[2].cpu_ns = 1;
  EXPECT_THAT(statistics.verdict(), HasSubstr("and range takes 0 % of that"));
}

/// A thread of its own helps no stage that shares several.
TEST(Verdict, WorkersThatShareTheirTimeWithOtherStagesKeepIt) {
  StageStatistics reads = stage("interleave", 1);
  reads.runs_ahead = true;
  reads.parallelism = 4;
  PipelineStatistics statistics = chain({reads, stage("files", 0.1), stage("shuffle", 2)});
  statistics.stages[2].consumer = statistics.stages[2].inside = 0;
  EXPECT_EQ(statistics.verdict(),
            "shuffle (in interleave) keeps 4 threads busy for 50 % of the time: make it cheaper, "
            "or cache() what it gives");
}

TEST(Verdict, ItDoesNotGuessWhenNobodyIsBusy) {
  EXPECT_EQ(chain({prefetch_stage(), stage("map", 0.3), stage("range", 0.1)}).verdict(),
            "no thread of the pipeline is busy for more than 40 % of the time, and yet its "
            "consumer waits: hand-offs between threads, a memory_bytes_max that leaves queues no "
            "room or a machine that others use can be why; these figures can't tell");
}

}  // namespace
}  // namespace infeed::test
