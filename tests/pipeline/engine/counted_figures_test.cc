#include <chrono>
#include <cstdint>
#include <gtest/gtest.h>
#include <vector>

#include <infeed/infeed.h>

#include "engine/iterator_counters.h"
#include "engine/stage_counters.h"
#include "engine/threads/clock.h"
#include "pipeline/suite/busy.h"

// The figures that users see, to the nanosecond. The tests count; no stage runs here.
namespace infeed::test {
namespace {

using detail::IteratorCounters;
using detail::ns_of_ticks;
using detail::StageCounters;

/// Returns the fewest ticks that are so many nanoseconds.
std::uint64_t first_ticks_of(std::uint64_t ns) {
  auto ticks = static_cast<std::uint64_t>(static_cast<double>(ns) * detail::ticks_per_ns());
  while (ns_of_ticks(ticks) >= ns) --ticks;
  while (ns_of_ticks(ticks) < ns) ++ticks;
  return ticks;
}

/// The counters of range | prefetch.
class CountedFigures : public ::testing::Test {
 protected:
  StageStatistics of_prefetch() const { return counters_.statistics().stages[0]; }
  StageStatistics of_range() const { return counters_.statistics().stages[1]; }

  const Dataset<std::int64_t> dataset_ = range(100) | prefetch(2, {.name = "ahead"});
  IteratorCounters counters_;
  StageCounters& prefetch_ = counters_.of_stage(*dataset_.node(), nullptr, 0);
  StageCounters& range_ = counters_.of_stage(dataset_.node()->input(), &prefetch_, 0);
};

TEST_F(CountedFigures, SayWhichStageTheyAreOf) {
  const std::vector<StageStatistics> stages = counters_.statistics().stages;
  ASSERT_EQ(stages.size(), 2U);
  EXPECT_EQ(stages[0].name, "prefetch");
  EXPECT_EQ(stages[0].given_name, "ahead");
  EXPECT_EQ(stages[0].label, "prefetch 'ahead'");
  EXPECT_EQ(stages[0].path, "prefetch 'ahead'");
  EXPECT_EQ(stages[0].depth, 0);
  EXPECT_EQ(stages[1].given_name, "");
  EXPECT_EQ(stages[1].label, "range");
  EXPECT_EQ(stages[1].path, "prefetch 'ahead' < range");
  EXPECT_EQ(counters_.statistics().cores, usable_cores());
}

/// A stage's own work is what its pulls took beyond those of its input.
TEST_F(CountedFigures, AreExactToTheNanosecond) {
  prefetch_.pull_time.ticks = first_ticks_of(5000) + 777;
  range_.pull_time.ticks = 777;
  EXPECT_EQ(of_prefetch().work_ns, 5000U);
  EXPECT_EQ(of_range().work_ns, ns_of_ticks(777));
  prefetch_.pull_time.ticks = first_ticks_of(5000) + 776;
  EXPECT_EQ(of_prefetch().work_ns, 4999U);
  prefetch_.has_threads = true;
  prefetch_.work_time.ticks = first_ticks_of(3000) - 1;
  EXPECT_EQ(of_prefetch().work_ns, 2999U);
  EXPECT_EQ(of_prefetch().total_ns, ns_of_ticks(first_ticks_of(5000) + 776));
}

TEST_F(CountedFigures, HaveTheBytesOfASingleElementThatWasSampled) {
  range_.elements = 10;
  range_.sampled.set(1, 30);
  EXPECT_EQ(of_range().bytes, 300U);
}

/// The CPU time of samples that a stage's input took isn't the stage's.
TEST_F(CountedFigures, HaveTheCpuTimeOfTheirOwnSamples) {
  counters_.note_begin();
  compute_for(std::chrono::milliseconds(1));  // the process had more of the cores than all stages
  const std::uint64_t ticks = first_ticks_of(64'000);
  for (StageCounters* const stage : {&prefetch_, &range_}) {
    stage->pull_time.ticks = 300;
    stage->pull_time.add_sample(300, 40);
  }
  prefetch_.pull_time.ticks += ticks;
  EXPECT_FALSE(of_prefetch().cpu_ns) << "without samples of its own";
  prefetch_.pull_time.add_sample(ticks, 1000);
  const StageStatistics figures = of_prefetch();
  EXPECT_EQ(figures.work_ns, 64'000U);
  EXPECT_EQ(figures.cpu_ns, 1000U);
  EXPECT_EQ(figures.blocked_ns, 63'000U);
}

TEST_F(CountedFigures, HaveTheCpuTimeOfTheShortestSample) {
  prefetch_.pull_time.ticks = 1000;
  prefetch_.pull_time.add_sample(first_ticks_of(1) - 1, 0);
  EXPECT_FALSE(of_prefetch().cpu_ns);
  prefetch_.pull_time.add_sample(1, 0);
  EXPECT_EQ(of_prefetch().cpu_ns, 0U);
  EXPECT_EQ(of_prefetch().blocked_ns, ns_of_ticks(1000));
}

TEST_F(CountedFigures, HaveNoTimeBeforeTheFirstElementIsAskedFor) {
  prefetch_.pull_time.ticks = 1000;
  const PipelineStatistics before = counters_.statistics();
  EXPECT_EQ(before.elapsed_ns, 0U);
  EXPECT_EQ(before.consumer_wait_ns, 0U);
  EXPECT_EQ(before.process_cpu_ns, 0U);
}

TEST_F(CountedFigures, StandStillBehindTheEnd) {
  counters_.note_begin();
  compute_for(std::chrono::milliseconds(1));
  const PipelineStatistics under_way = counters_.statistics();
  EXPECT_GE(under_way.process_cpu_ns, 1'000'000U);
  EXPECT_GE(under_way.elapsed_ns, 900'000U);
  counters_.note_end();
  const PipelineStatistics at_end = counters_.statistics();
  EXPECT_GE(at_end.elapsed_ns, under_way.elapsed_ns);
  EXPECT_GE(at_end.process_cpu_ns, under_way.process_cpu_ns);
  compute_for(std::chrono::milliseconds(1));
  counters_.note_end();
  const PipelineStatistics later = counters_.statistics();
  EXPECT_EQ(later.elapsed_ns, at_end.elapsed_ns);
  EXPECT_EQ(later.process_cpu_ns, at_end.process_cpu_ns);
}

}  // namespace
}  // namespace infeed::test
