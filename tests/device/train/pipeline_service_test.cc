#include "../../../device/train/pipeline_service.h"

#include <gtest/gtest.h>

namespace infeed::detail {
namespace {

struct Figures {
  std::string name = {};
  std::uint64_t work_ns = 0;
  bool runs_ahead = false;
  int parallelism = 1;
};

/// Stages from the consumer's side on, each of which pulls the next one.
PipelineStatistics chain(const std::vector<Figures>& stages, int cores = 8) {
  PipelineStatistics statistics{.cores = cores};
  for (const Figures& figures : stages) {
    StageStatistics& stage = statistics.stages.emplace_back();
    stage.name = figures.name;
    stage.consumer = static_cast<int>(statistics.stages.size()) - 2;
    stage.work_ns = figures.work_ns;
    stage.runs_ahead = figures.runs_ahead;
    stage.parallelism = figures.parallelism;
  }
  return statistics;
}

PipelineStatistics before(const PipelineStatistics& now) {
  PipelineStatistics nothing = now;
  for (StageStatistics& stage : nothing.stages) {
    stage.work_ns = 0;
    stage.cpu_ns = std::nullopt;
  }
  return nothing;
}

TEST(PipelineService, AddsUpTheStagesThatAPrefetchsThreadRuns) {
  const auto now = chain({{.name = "prefetch", .work_ns = 5, .runs_ahead = true},
                          {.name = "batch", .work_ns = 200},
                          {.name = "map", .work_ns = 3000}});
  EXPECT_EQ(busiest_thread_ns(before(now), now), 3200);
}

TEST(PipelineService, LeavesOutWhatTheConsumersThreadDoes) {
  const auto now = chain({{.name = "map", .work_ns = 9000},
                          {.name = "prefetch", .work_ns = 5, .runs_ahead = true},
                          {.name = "range", .work_ns = 100}});
  EXPECT_EQ(busiest_thread_ns(before(now), now), 100);
}

TEST(PipelineService, DividesTheWorkOfSeveralThreads) {
  const auto now = chain({{.name = "map", .work_ns = 8000, .runs_ahead = true, .parallelism = 4},
                          {.name = "range", .work_ns = 100}});
  EXPECT_EQ(busiest_thread_ns(before(now), now), 2000);
}

TEST(PipelineService, DividesInnerDatasetsByTheirReaders) {
  PipelineStatistics now =
      chain({{.name = "interleave", .work_ns = 10, .runs_ahead = true, .parallelism = 2},
             {.name = "records", .work_ns = 6000}});
  now.stages[1].inside = 0;
  EXPECT_EQ(busiest_thread_ns(before(now), now), 3000);
}

TEST(PipelineService, HasNoMoreThanTheCores) {
  auto now = chain({{.name = "map", .work_ns = 8000, .runs_ahead = true, .parallelism = 16}}, 2);
  now.stages[0].cpu_ns = 8000;
  EXPECT_EQ(busiest_thread_ns(before(now), now), 4000);
}

TEST(PipelineService, CountsWhatHappenedInBetween) {
  const auto first = chain({{.name = "prefetch", .runs_ahead = true}, {.work_ns = 1000}});
  const auto second = chain({{.name = "prefetch", .runs_ahead = true}, {.work_ns = 1700}});
  EXPECT_EQ(busiest_thread_ns(first, second), 700);
}

}  // namespace
}  // namespace infeed::detail
