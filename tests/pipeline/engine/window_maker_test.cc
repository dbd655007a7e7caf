#include <chrono>

#include <infeed/pipeline/iterate_options.h>
#include <infeed/pipeline/range.h>
#include <infeed/pipeline/statistics.h>

#include "engine/iterator_context.h"
#include "engine/stage_counters.h"
#include "engine/statistics/window.h"
#include "engine/threads/clock.h"
#include "matchers.h"
#include "pipeline/suite/busy.h"

// Figures that the counters of stages give of a span of time. The tests count; no stage runs here.
namespace infeed::test {
namespace {

using detail::ns_of_ticks;
using detail::StageCounters;

TEST(WindowMaker, GivesWhatHasHappenedSinceTheLastLook) {
  const auto dataset = range(3);
  IteratorContext run(IterateOptions{.memory_bytes_max = 1000});
  StageCounters& stage = run.counters().of_stage(*dataset.node(), nullptr, 0);
  detail::WindowMaker windows(run);
  stage.elements = 5;
  stage.pull_time.ticks = 400'000;
  stage.wait_ticks = 30'000;
  stage.sampled.set(1, 8);
  const detail::Window first = windows.look(1000);
  EXPECT_EQ(first.begin_ns, 0U);
  EXPECT_EQ(first.length_ns, 1000U);
  EXPECT_EQ(first.elapsed_ns, 0U);
  EXPECT_GT(first.cores, 0);
  EXPECT_EQ(first.cores_of_others, 0) << "there is nothing to compare with";
  EXPECT_EQ(first.memory_bytes, 0U);
  EXPECT_EQ(first.memory_limit_bytes, 1000U);
  EXPECT_EQ(first.memory_refusals, 0U);
  ASSERT_EQ(first.stages.size(), 1U);
  EXPECT_EQ(first.stages[0].counters, &stage);
  EXPECT_EQ(first.stages[0].figures.elements, 5U);
  EXPECT_EQ(first.stages[0].figures.bytes, 40U);
  EXPECT_EQ(first.stages[0].figures.work_ns, ns_of_ticks(400'000));
  stage.elements = 12;
  stage.pull_time.ticks = 900'000;
  stage.wait_ticks = 70'000;
  stage.full_ticks = 20'000;
  run.memory().hold_best_effort(30);
  EXPECT_FALSE(run.memory().try_reserve_best_effort(10'000));
  const detail::Window second = windows.look(1500);
  EXPECT_EQ(second.begin_ns, 1000U);
  EXPECT_EQ(second.length_ns, 500U);
  EXPECT_EQ(second.memory_bytes, 30U);
  EXPECT_EQ(second.memory_refusals, 1U);
  const StageStatistics& figures = second.stages.at(0).figures;
  EXPECT_EQ(figures.elements, 7U);
  EXPECT_EQ(figures.bytes, 56U);
  EXPECT_EQ(figures.work_ns, ns_of_ticks(900'000) - ns_of_ticks(400'000));
  EXPECT_EQ(figures.cpu_ns, figures.work_ns) << "without samples all work counts as such";
  EXPECT_EQ(figures.blocked_ns, 0U);
  EXPECT_EQ(figures.wait_ns, ns_of_ticks(70'000) - ns_of_ticks(30'000));
  EXPECT_EQ(figures.full_ns, ns_of_ticks(20'000));
  const detail::Window third = windows.look(1500);
  EXPECT_EQ(third.length_ns, 0U);
  EXPECT_EQ(third.cores_of_others, 0);
  EXPECT_EQ(third.memory_refusals, 0U);
  EXPECT_EQ(third.stages.at(0).figures.elements, 0U);
  EXPECT_EQ(windows.statistics().stages.at(0).elements, 12U);
  EXPECT_THAT(windows.stages(), ElementsAre(&stage));
}

TEST(WindowMaker, TakesTheCpuTimeOfAllSamplesSoFar) {
  const auto dataset = range(3);
  IteratorContext run(IterateOptions{});
  StageCounters& stage = run.counters().of_stage(*dataset.node(), nullptr, 0);
  run.counters().note_begin();
  compute_for(std::chrono::milliseconds(1));
  detail::WindowMaker windows(run);
  stage.pull_time.ticks = 1000;
  windows.look(1000);
  stage.pull_time.ticks = 101'000;
  stage.pull_time.add_sample(10'000, ns_of_ticks(10'000) / 4);
  const detail::Window window = windows.look(2000);
  const StageStatistics& figures = window.stages.at(0).figures;
  EXPECT_NEAR(static_cast<double>(*figures.cpu_ns), static_cast<double>(figures.work_ns) / 4, 40);
  EXPECT_EQ(*figures.cpu_ns + *figures.blocked_ns, figures.work_ns);
}

}  // namespace
}  // namespace infeed::test
