#include "engine/stage_counters.h"

#include <chrono>
#include <cstdint>
#include <limits>
#include <string>

#include <infeed/infeed.h>

#include "engine/iterator_counters.h"
#include "engine/threads/clock.h"
#include "matchers.h"
#include "pipeline/suite/busy.h"

// Counters of stages, and the figures that are made of them. The tests count; no stage runs here.
namespace infeed::test {
namespace {

using detail::IteratorCounters;
using detail::ns_of_ticks;
using detail::StageCounters;

constexpr std::uint64_t kMost = std::numeric_limits<std::uint64_t>::max();

/// The counters of range | shuffle | batch.
class CountersOfThree : public ::testing::Test {
 protected:
  /// Begins the time, and lets the process have the core for a millisecond of it.
  void begin_and_compute() {
    counters_.note_begin();
    compute_for(std::chrono::milliseconds(1));
  }

  const Dataset<Batch<std::int64_t>> dataset_ =
      range(100) | shuffle({.buffer = 4, .seed = 1}) | batch(4);
  const Node& batch_node_ = *dataset_.node();
  const Node& shuffle_node_ = batch_node_.input();
  const Node& range_node_ = shuffle_node_.input();
  IteratorCounters counters_;
  StageCounters& batch_ = counters_.of_stage(batch_node_, nullptr, 0);
  StageCounters& shuffle_ = counters_.of_stage(shuffle_node_, &batch_, 0);
  StageCounters& range_ = counters_.of_stage(range_node_, &shuffle_, 0);
};

TEST_F(CountersOfThree, AreFoundByTheirPlace) {
  EXPECT_THAT(counters_.labels(), ElementsAre("batch", "shuffle", "range"));
  EXPECT_EQ(counters_.find(shuffle_node_, &batch_, 0), &shuffle_);
  EXPECT_EQ(counters_.find(shuffle_node_, &batch_, 1), nullptr);
  EXPECT_EQ(counters_.find(range_node_, &batch_, 0), nullptr);
  EXPECT_EQ(counters_.find(batch_node_, nullptr, 0), &batch_);
  EXPECT_EQ(shuffle_.passes, 1U);
  EXPECT_EQ(&counters_.of_stage(shuffle_node_, &batch_, 0), &shuffle_);
  EXPECT_EQ(shuffle_.passes, 2U) << "a repeat opens the next one";
  EXPECT_EQ(batch_.depth, 0);
  EXPECT_EQ(range_.depth, 2);
  EXPECT_EQ(range_.consumer, &shuffle_);
  EXPECT_EQ(range_.outer, nullptr);
  EXPECT_EQ(range_.node, &range_node_);
  EXPECT_EQ(range_.path(), "batch < shuffle < range");
  EXPECT_FALSE(batch_.draws);
  EXPECT_TRUE(shuffle_.draws);
  EXPECT_TRUE(batch_.passes_may_differ);
  EXPECT_TRUE(shuffle_.passes_may_differ);
  EXPECT_FALSE(range_.passes_may_differ);
  EXPECT_EQ(counters_.statistics().stages.size(), 3U);
}

TEST(CountersOfOne, ShowNoStageThatIsNotOpen) {
  const auto dataset = range(100) | shuffle({.buffer = 4, .seed = 1});
  IteratorCounters counters;
  counters.of_stage(*dataset.node(), nullptr, 0);
  EXPECT_THAT(counters.labels(), ElementsAre("shuffle", "range"));
  EXPECT_EQ(counters.statistics().stages.size(), 1U);
}

TEST(CountersOfTwoInputs, FollowTheFirstOnes) {
  const auto input = range(3) | map([](std::int64_t x) { return x; });
  const auto dataset = zip(input, input);
  IteratorCounters counters;
  StageCounters& zipped = counters.of_stage(*dataset.node(), nullptr, 0);
  EXPECT_THAT(counters.labels(), ElementsAre("zip", "map[1]", "range[1]", "map[2]", "range[2]"));
  zipped.elements = 1;
  const auto found = counters.handed_over();
  ASSERT_EQ(found.size(), 3U);
  EXPECT_EQ(found[0].elements, 1U);
}

/// Stages of its inner datasets draw by the seed of a flat_map, which draws none itself.
TEST(CountersOfInnerDatasets, DrawWhereTheirStagesDo) {
  const auto dataset = range(3) | flat_map([](std::int64_t x) { return range(x); });
  IteratorCounters counters;
  const StageCounters& outer = counters.of_stage(*dataset.node(), nullptr, 0);
  EXPECT_FALSE(outer.draws);
  EXPECT_TRUE(outer.passes_may_differ);
}

TEST_F(CountersOfThree, CountErrorsOnceHoweverManyStagesTheyPass) {
  EXPECT_EQ(counters_.errors_seen(), 0U);
  batch_.errors = 2;
  EXPECT_EQ(counters_.errors_seen(), 2U) << "of a cache that was filled in another run";
  range_.errors_arisen = 1;
  shuffle_.errors_arisen = 2;
  EXPECT_EQ(counters_.errors_seen(), 3U);
  shuffle_.errors = 5;
  EXPECT_EQ(counters_.errors_seen(), 5U);
  batch_.errors = 9;
  EXPECT_EQ(counters_.errors_seen(), 9U);
  EXPECT_EQ(counters_.errors_before(batch_), 5U);
  EXPECT_EQ(counters_.errors_before(shuffle_), 1U);
  EXPECT_EQ(counters_.errors_before(range_), 0U);
  counters_.note_hidden_errors(12);
  counters_.note_hidden_errors(7);
  EXPECT_EQ(counters_.errors_seen(), 12U);
  EXPECT_EQ(counters_.errors_before(range_), 12U);
}

TEST_F(CountersOfThree, CountErrorsThatWerePassedOverWhereTheyWereMade) {
  batch_.errors = 4;
  const detail::SkippedErrors errors(counters_);
  EXPECT_EQ(errors.count(9), 0U);
  range_.elements = 9;
  range_.errors = 3;
  EXPECT_EQ(errors.count(9), 3U) << "batch and shuffle passed over them unseen";
  EXPECT_EQ(errors.count(0), 0U) << "nothing was passed over, and range has run ahead";
  shuffle_.elements = 9;
  EXPECT_EQ(errors.count(9), 0U) << "shuffle has seen none";
  batch_.elements = 3;
  batch_.errors = 5;
  EXPECT_EQ(errors.count(3), 1U);
}

TEST_F(CountersOfThree, ShowThatSomethingMoves) {
  EXPECT_EQ(counters_.progress(), 0U);
  EXPECT_EQ(counters_.elements_replayed(), 0U);
  batch_.elements = 3;
  shuffle_.elements = 10;
  range_.elements = 7;
  shuffle_.work_time.ticks = 100;
  range_.skipped = 1000;
  EXPECT_EQ(counters_.progress(), 3U + 10 + 7 + 100 + 1000);
  EXPECT_EQ(counters_.elements_replayed(), 10U);
}

TEST_F(CountersOfThree, SayWhoWaitsForWhom) {
  const std::string end = " is inside its own code (a user's function, a read, or a full queue)";
  EXPECT_EQ(counters_.who_waits_for_whom(), "the consumer" + end);
  batch_.inside = 1;
  range_.inside = 1;  // by a thread that nobody waits for
  EXPECT_EQ(counters_.who_waits_for_whom(), "the consumer waits for batch; batch" + end);
  shuffle_.inside = 2;
  EXPECT_EQ(
      counters_.who_waits_for_whom(),
      "the consumer waits for batch; batch waits for shuffle; shuffle waits for range; range" +
          end);
}

TEST_F(CountersOfThree, KnowHowLongTheConsumerHasWaited) {
  EXPECT_EQ(IteratorCounters().consumer_wait_ticks(), 0U);
  batch_.pull_time.ticks = 500;
  EXPECT_EQ(counters_.consumer_wait_ticks(), 500U);
  batch_.pull_begin_ticks = kMost;
  EXPECT_EQ(counters_.consumer_wait_ticks(), 500U) << "another core's clock may be ahead";
  batch_.pull_begin_ticks = 1;
  const std::uint64_t before = detail::ticks_now();
  const std::uint64_t waited = counters_.consumer_wait_ticks();
  EXPECT_GE(waited, 500 + before - 1);
  EXPECT_LE(waited, 500 + detail::ticks_now() - 1);
  batch_.pull_begin_ticks = 0;
  StageCounters& queue = counters_.begin_ready_queue();
  EXPECT_EQ(counters_.consumer_wait_ticks(), 500U);
  queue.wait_ticks = 70;
  batch_.pull_time.ticks = 9000;  // by the thread that keeps elements ready
  EXPECT_EQ(counters_.consumer_wait_ticks(), 570U);
  counters_.end_ready_queue();
  EXPECT_EQ(counters_.consumer_wait_ticks(), 9000U) << "the consumer pulls the root itself";
}

TEST_F(CountersOfThree, CountAResumeAsWaitingOnce) {
  begin_and_compute();
  batch_.pull_time.ticks = 1000;
  counters_.add_resume_ticks(3000);
  EXPECT_EQ(counters_.statistics().consumer_wait_ns, ns_of_ticks(4000));
  {
    const detail::ResumeWait wait(counters_);
    compute_for(std::chrono::milliseconds(1));
    batch_.pull_time.ticks = 1'001'000;
  }
  const PipelineStatistics statistics = counters_.statistics();
  EXPECT_GE(statistics.consumer_wait_ns, 1'000'000U);
  EXPECT_LE(statistics.consumer_wait_ns, statistics.elapsed_ns - 900'000);
  batch_.pull_time.ticks = detail::ticks_of_us(1e9);
  const PipelineStatistics all = counters_.statistics();
  EXPECT_EQ(all.consumer_wait_ns, all.elapsed_ns) << "no more than there was";
}

TEST_F(CountersOfThree, GiveTheWorkOfEachStageWithoutItsInputs) {
  batch_.pull_time.ticks = 900'000;
  shuffle_.pull_time.ticks = 500'000;
  range_.pull_time.ticks = 200'000;
  auto stages = counters_.statistics().stages;
  EXPECT_EQ(stages[0].total_ns, ns_of_ticks(900'000));
  EXPECT_EQ(stages[0].work_ns, ns_of_ticks(400'000));
  EXPECT_EQ(stages[1].work_ns, ns_of_ticks(300'000));
  EXPECT_EQ(stages[2].work_ns, ns_of_ticks(200'000));
  EXPECT_FALSE(stages[0].cpu_ns) << "without samples";
  EXPECT_FALSE(stages[0].blocked_ns);
  shuffle_.has_threads = true;
  shuffle_.work_time.ticks = 70'000;
  batch_.pull_time.ticks = 400'000;  // it is read before its input goes on
  stages = counters_.statistics().stages;
  EXPECT_EQ(stages[0].work_ns, 0U);
  EXPECT_FALSE(stages[0].runs_ahead);
  EXPECT_EQ(stages[1].work_ns, ns_of_ticks(70'000));
  EXPECT_TRUE(stages[1].runs_ahead);
}

TEST_F(CountersOfThree, GiveTheFiguresThatUsersSee) {
  shuffle_.elements = 10;
  shuffle_.errors = 2;
  shuffle_.pulls = 6;
  shuffle_.sampled.set(4, 100);
  shuffle_.wait_ticks = 7000;
  shuffle_.full_ticks = 8000;
  shuffle_.buffered.set(11, 12);
  shuffle_.note_parallelism(13, true);
  shuffle_.note_queue_limits(14, 15, true);
  const auto stages = counters_.statistics().stages;
  const StageStatistics& figures = stages[1];
  EXPECT_EQ(figures.name, "shuffle");
  EXPECT_EQ(figures.path, "batch < shuffle");
  EXPECT_EQ(figures.depth, 1);
  EXPECT_EQ(figures.elements, 10U);
  EXPECT_EQ(figures.errors, 2U);
  EXPECT_EQ(figures.pulls, 6U);
  EXPECT_EQ(figures.bytes, 250U) << "four of ten elements had 100 bytes";
  EXPECT_EQ(figures.wait_ns, ns_of_ticks(7000));
  EXPECT_EQ(figures.full_ns, ns_of_ticks(8000));
  EXPECT_EQ(figures.buffered_elements, 11U);
  EXPECT_EQ(figures.buffered_bytes, 12U);
  EXPECT_EQ(figures.parallelism, 13);
  EXPECT_EQ(figures.queue_elements_max, 14U);
  EXPECT_EQ(figures.queue_bytes_max, 15U);
  EXPECT_TRUE(figures.is_tuned);
  EXPECT_EQ(stages[2].bytes, 0U) << "without samples";
  EXPECT_EQ(stages[0].consumer, -1);
  EXPECT_EQ(stages[1].consumer, 0);
  EXPECT_EQ(stages[2].consumer, 1);
  EXPECT_EQ(stages[2].inside, -1);
}

TEST_F(CountersOfThree, GiveTheCpuTimeBySamples) {
  begin_and_compute();
  range_.pull_time.ticks = 2000;
  range_.pull_time.add_sample(1000, ns_of_ticks(1000) / 4);
  const StageStatistics quarter = counters_.statistics().stages[2];
  ASSERT_TRUE(quarter.cpu_ns && quarter.blocked_ns);
  EXPECT_EQ(*quarter.cpu_ns + *quarter.blocked_ns, quarter.work_ns);
  EXPECT_NEAR(static_cast<double>(*quarter.cpu_ns), static_cast<double>(quarter.work_ns) / 4, 8);
  range_.pull_time.add_sample(0, ns_of_ticks(1000));
  const StageStatistics whole = counters_.statistics().stages[2];
  EXPECT_EQ(*whole.cpu_ns, whole.work_ns) << "never more than the work";
  EXPECT_EQ(*whole.blocked_ns, 0U);
}

TEST_F(CountersOfThree, GiveNoMoreCpuTimeThanTheProcessHad) {
  begin_and_compute();
  const std::uint64_t ticks = detail::ticks_of_us(1e9);
  for (StageCounters* const stage : {&batch_, &shuffle_}) {
    stage->has_threads = true;
    stage->work_time.ticks = ticks;
    stage->work_time.add_sample(ticks, ns_of_ticks(ticks));
  }
  const PipelineStatistics statistics = counters_.statistics();
  EXPECT_GE(statistics.process_cpu_ns, 1'000'000U);
  const StageStatistics& batch = statistics.stages[0];
  ASSERT_TRUE(batch.cpu_ns);
  EXPECT_EQ(*batch.cpu_ns, *statistics.stages[1].cpu_ns);
  EXPECT_NEAR(static_cast<double>(*batch.cpu_ns),
              static_cast<double>(statistics.process_cpu_ns) / 2, 2);
  EXPECT_EQ(*batch.cpu_ns + *batch.blocked_ns, batch.work_ns);
  EXPECT_FALSE(statistics.stages[2].cpu_ns);
}

TEST_F(CountersOfThree, TellHowManyElementsOfTheInputAreWanted) {
  EXPECT_EQ(batch_.input_wanted(3), 12U);
  EXPECT_EQ(shuffle_.input_wanted(3), detail::kAllElements) << "a shuffle fills its buffer";
  EXPECT_EQ(batch_.input_wanted(detail::kAllElements), detail::kAllElements);
  StageCounters queue;
  EXPECT_EQ(queue.input_wanted(5), 5U);
  queue.consumer = &batch_;
  EXPECT_EQ(queue.input_wanted(5), 20U);
  batch_.depth = 64;
  EXPECT_EQ(batch_.input_wanted(3), 12U);
  batch_.depth = 65;
  EXPECT_EQ(batch_.input_wanted(3), detail::kAllElements) << "it isn't worth the look";
}

}  // namespace
}  // namespace infeed::test
