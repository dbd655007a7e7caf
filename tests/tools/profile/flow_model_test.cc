#include <algorithm>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <string>
#include <vector>

#include "profile/profile_report.h"
#include "profile/what_ifs.h"

/// Gains of changes, from recordings whose figures are easy to check.
namespace infeed::tools {
namespace {

constexpr std::uint64_t kFlowWindowNs = 100'000'000;

/// A stage's work for an element of the training step.
struct StageWork {
  std::string name;
  std::uint64_t cpu_ns = 0;
  std::uint64_t blocked_ns = 0;
  int parallelism = 1;  ///< 0: its threads rest
  bool runs_ahead = false;
};

struct FlowFigures {
  std::uint64_t element_ns = 200'000;  ///< time of an element
  std::uint64_t step_ns = 0;           ///< part of it in the step
  double cores = 2;
  double cores_of_others = 0;
  std::uint64_t process_cpu_ns = 0;  ///< for each element
  int windows = 10;
};

/// Records a run. Stages are listed from the training step to the source.
RecordedRun recorded_flow(const std::vector<StageWork>& stages, const FlowFigures& figures) {
  RecordedRun run;
  run.cores = figures.cores;
  const std::uint64_t elements = kFlowWindowNs / figures.element_ns;
  for (int i = 0; i < static_cast<int>(stages.size()); ++i) {
    const StageWork& work = stages[static_cast<std::size_t>(i)];
    run.stages.push_back({.id = i,
                          .name = work.name,
                          .label = work.name,
                          .consumer = i - 1,
                          .runs_ahead = work.runs_ahead});
  }
  for (int number = 0; number < figures.windows; ++number) {
    RecordedWindow window{.begin_ns = static_cast<std::uint64_t>(number) * kFlowWindowNs,
                          .length_ns = kFlowWindowNs,
                          .elements = elements,
                          .consumer_wait_ns = kFlowWindowNs - elements * figures.step_ns,
                          .process_cpu_ns = elements * figures.process_cpu_ns,
                          .cores = figures.cores,
                          .cores_of_others = figures.cores_of_others};
    for (std::size_t i = 0; i < stages.size(); ++i) {
      window.stages.push_back({.stage = static_cast<int>(i),
                               .elements = elements,
                               .bytes = 8 * elements,
                               .cpu_ns = elements * stages[i].cpu_ns,
                               .blocked_ns = elements * stages[i].blocked_ns,
                               .parallelism = std::max(1, stages[i].parallelism),
                               .is_serial = stages[i].parallelism == 0});
    }
    run.windows.push_back(std::move(window));
  }
  return run;
}

/// Returns all proposals: "threads for map: +100 %", the best one first.
std::string what_ifs_of(const RecordedRun& run) {
  std::string text;
  for (const WhatIf& what_if : tools::what_ifs(run, FlowModel(run), {})) {
    text += fmt::format("{}: {:+.0f} %\n", what_if.change, 100 * what_if.predicted_gain);
  }
  return text;
}

/// Returns the gain, -1 if it isn't proposed.
double gain_of(const RecordedRun& run, ChangeKind kind, int stage = -1) {
  for (const WhatIf& what_if : tools::what_ifs(run, FlowModel(run), {})) {
    if (what_if.kind == kind && what_if.stage == stage) return what_if.predicted_gain;
  }
  return -1;
}

TEST(FlowModel, OfEqualCachesOneIsAdvised) {
  const std::vector<StageWork> stages = {
      {.name = "map"}, {.name = "map"}, {.name = "records", .cpu_ns = 150'000}};
  const std::string text = what_ifs_of(recorded_flow(stages, {.process_cpu_ns = 150'000}));
  const std::size_t first = text.find("a cache behind");
  ASSERT_NE(first, text.npos) << text;
  EXPECT_EQ(text.find("a cache behind", first + 1), text.npos) << text;
}

TEST(FlowModel, OtherProcessesAreNamedWhereTheyHaveTheCores) {
  const std::vector<StageWork> stages = {
      {.name = "map", .cpu_ns = 200'000, .parallelism = 2, .runs_ahead = true}, {.name = "range"}};
  FlowFigures figures{.element_ns = 200'000, .process_cpu_ns = 200'000};
  EXPECT_EQ(gain_of(recorded_flow(stages, figures), ChangeKind::others), -1);
  figures.cores_of_others = 1;
  EXPECT_GT(gain_of(recorded_flow(stages, figures), ChangeKind::others), 0.2);
}

TEST(FlowModel, ThreadsThatRestDoNoWork) {
  // All in the step's thread: the map can have threads, and the prefetch its own.
  const std::vector<StageWork> serial = {
      {.name = "prefetch", .parallelism = 0, .runs_ahead = true},
      {.name = "map", .cpu_ns = 100'000, .parallelism = 0, .runs_ahead = true},
      {.name = "range"}};
  const RecordedRun run =
      recorded_flow(serial, {.element_ns = 200'000, .step_ns = 100'000, .process_cpu_ns = 100'000});
  EXPECT_NEAR(gain_of(run, ChangeKind::threads, 1), 1, 1e-9);   // 200 us become 100
  EXPECT_NEAR(gain_of(run, ChangeKind::prefetch, 0), 1, 1e-9);  // the same by the other way
  const auto what_ifs = tools::what_ifs(run, FlowModel(run), {});
  const auto threads = std::ranges::find(what_ifs, ChangeKind::threads, &WhatIf::kind);
  ASSERT_NE(threads, what_ifs.end());
  EXPECT_EQ(threads->threads, 2);
  EXPECT_EQ(threads->change, "threads for map");
}

TEST(FlowModel, HeadroomIsInCallsOfNextWhereNobodyTimesSteps) {
  RecordedRun run = recorded_flow({{.name = "map", .cpu_ns = 100'000}, {.name = "range"}},
                                  {.element_ns = 200'000, .step_ns = 100'000});
  run.steps = {{.infeed_wait_ns = 1'000'000, .compute_ns = 1'000'000, .elements = 10},
               {.infeed_wait_ns = 1'000'000, .compute_ns = 1'000'000, .elements = 10}};
  EXPECT_NEAR(FlowModel(run).device_steps_per_s(), 10'000, 1e-6);
  EXPECT_NEAR(FlowModel(run).pipeline_steps_per_s(), 10'000, 1e-6);
  run.has_steps = true;
  EXPECT_NEAR(FlowModel(run).device_steps_per_s(), 1'000, 1e-6);
}

/// The device could do five times as many steps, it was said, as it did without waiting.
TEST(FlowModel, ElementsThatNoStepHadAreNoneOfTheDevices) {
  RecordedRun run = recorded_flow({{.name = "prefetch"}, {.name = "range"}},
                                  {.element_ns = 100'000, .step_ns = 100'000, .windows = 1});
  run.has_steps = true;
  run.steps = {{.compute_ns = kFlowWindowNs / 2, .elements = 1},
               {.compute_ns = kFlowWindowNs / 2, .elements = 1}};
  const double steps_per_s = 2e9 / static_cast<double>(kFlowWindowNs);
  EXPECT_NEAR(FlowModel(run).device_steps_per_s(), steps_per_s, 1e-9);
  const tools::ProfileReport report = tools::explain(run);
  EXPECT_NEAR(report.steps_per_s, steps_per_s, 1e-9);
  EXPECT_NEAR(report.elements_per_s, steps_per_s, 1e-9);
}

TEST(FlowModel, TwiceTheThreadsNeedCores) {
  const auto with_map = [](int parallelism, double cores) {
    return recorded_flow(
        {{.name = "map", .cpu_ns = 100'000, .parallelism = parallelism, .runs_ahead = true},
         {.name = "range"}},
        {.element_ns = 100'000 / static_cast<unsigned>(parallelism),
         .cores = cores,
         .process_cpu_ns = 100'000});
  };
  EXPECT_NEAR(gain_of(with_map(1, 2), ChangeKind::threads, 0), 1, 1e-9);
  EXPECT_EQ(gain_of(with_map(2, 2), ChangeKind::threads, 0), -1);
  EXPECT_NEAR(gain_of(with_map(2, 2), ChangeKind::cores), 1, 1e-9);
  EXPECT_NEAR(gain_of(with_map(2, 3), ChangeKind::threads, 0), 0.5, 1e-9);
}

TEST(FlowModel, CoresAreSharedWithOthers) {
  const std::vector<StageWork> stages = {{.name = "map", .cpu_ns = 100'000, .runs_ahead = true},
                                         {.name = "range"}};
  FlowFigures figures{.element_ns = 100'000, .process_cpu_ns = 100'000};
  // Two threads of ours and two thirds of another's get 1.5 of 2 cores.
  figures.cores_of_others = 2.0 / 3;
  EXPECT_NEAR(gain_of(recorded_flow(stages, figures), ChangeKind::threads, 0), 0.5, 1e-9);
}

TEST(FlowModel, CallsThatWaitNeedMoreThreadsThanCores) {
  const std::vector<StageWork> stages = {{.name = "map", .cpu_ns = 10'000, .blocked_ns = 990'000},
                                         {.name = "range"}};
  const RecordedRun run =
      recorded_flow(stages, {.element_ns = 1'000'000, .process_cpu_ns = 10'000});
  EXPECT_EQ(what_ifs_of(run),
            "a cache behind map: +2585215 %\n"
            "threads for map: +1500 %\n"
            "half the time for what map waits for: +98 %\n");
}

TEST(FlowModel, WhatTheProcessHadOfTheCoresIsTheStages) {
  // The samples saw a tenth of the map's time on a core, but the process computed all of it.
  const std::vector<StageWork> stages = {{.name = "map", .cpu_ns = 20'000, .blocked_ns = 180'000},
                                         {.name = "range"}};
  const RecordedRun run = recorded_flow(stages, {.process_cpu_ns = 200'000});
  EXPECT_NEAR(gain_of(run, ChangeKind::threads, 0), 1, 1e-9);  // two cores
  EXPECT_EQ(gain_of(run, ChangeKind::waits, 0), -1);
  // The step may have had the CPU that the stages hadn't.
  const RecordedRun other =
      recorded_flow(stages, {.element_ns = 400'000, .step_ns = 200'000, .process_cpu_ns = 200'000});
  EXPECT_NEAR(gain_of(other, ChangeKind::waits, 0), 400.0 / 310 - 1, 1e-6);
}

TEST(FlowModel, AWaitThatNoSampleSawIsInTheSlowCalls) {
  // 100 us an element on average: 20 ms once in 200 elements, which the samples took for computing.
  const std::vector<StageWork> stages = {{.name = "map", .cpu_ns = 150'000}, {.name = "range"}};
  RecordedRun run = recorded_flow(stages, {.element_ns = 200'000, .step_ns = 50'000});
  EXPECT_EQ(gain_of(run, ChangeKind::waits, 0), -1);
  for (std::uint64_t i = 1; i < 10; ++i) {
    for (std::uint64_t part = 0; part < 2; ++part) {
      run.slow_calls.push_back({.begin_ns = i * kFlowWindowNs + part * 50'000'000,
                                .took_ns = 25'000'000,
                                .cpu_ns = 1'000'000,
                                .preempted_ns = 4'000'000});
    }
  }
  // 40 ms in each window of 500 elements: 80 of the 200 us.
  EXPECT_NEAR(gain_of(run, ChangeKind::waits, 0), 200.0 / 160 - 1, 1e-6);
}

TEST(FlowModel, StallsThatAreInTheAverageCountOnce) {
  const std::vector<StageWork> stages = {{.name = "map", .cpu_ns = 50'000, .blocked_ns = 50'000},
                                         {.name = "range"}};
  RecordedRun run =
      recorded_flow(stages, {.element_ns = 200'000, .step_ns = 100'000, .process_cpu_ns = 50'000});
  run.has_steps = true;
  run.steps = {{.infeed_wait_ns = 500'000'000, .compute_ns = 500'000'000, .elements = 5'000}};
  run.slow_calls = {{.begin_ns = 1, .took_ns = 1, .stage = 0}};
  const std::vector<LateStep> late = {
      {.late_ns = 200'000'000, .cause = Cause::waiting_function, .stage = 0, .slow_call = 0}};
  for (const WhatIf& what_if : tools::what_ifs(run, FlowModel(run), late)) {
    if (what_if.kind != ChangeKind::cache) continue;
    EXPECT_NEAR(what_if.predicted_gain, 1, 0.01);  // the step's 100 us are left of 200
  }
}

TEST(FlowModel, TheFirstWindowIsTheStart) {
  const std::vector<StageWork> stages = {{.name = "map", .cpu_ns = 200'000}, {.name = "range"}};
  RecordedRun run = recorded_flow(stages, {.process_cpu_ns = 200'000});
  const std::string steady = what_ifs_of(run);
  run.windows.front().stages.front().blocked_ns += 80'000'000;
  EXPECT_EQ(what_ifs_of(run), steady);
  // Two windows don't suffice to tell.
  run.windows.resize(2);
  EXPECT_NE(what_ifs_of(run), steady);
}

TEST(FlowModel, NoCacheFreezesRandomNumbers) {
  const std::vector<StageWork> stages = {{.name = "batch_into", .cpu_ns = 20'000},
                                         {.name = "map", .cpu_ns = 60'000},
                                         {.name = "parse", .cpu_ns = 20'000},
                                         {.name = "records"}};
  RecordedRun run = recorded_flow(stages, {.element_ns = 100'000, .process_cpu_ns = 100'000});
  EXPECT_GT(gain_of(run, ChangeKind::cache, 1), 1);
  run.stages[1].is_random = true;
  EXPECT_EQ(gain_of(run, ChangeKind::cache, 1), -1) << "behind the stage that draws";
  EXPECT_GT(gain_of(run, ChangeKind::cache, 2), 0) << "before it";
  run.stages[3].is_random = true;
  EXPECT_EQ(gain_of(run, ChangeKind::cache, 2), -1) << "behind a source that draws";
}

TEST(FlowModel, WhoTimesNoStepsHearsOfNone) {
  const std::vector<StageWork> stages = {{.name = "range"}};
  RecordedRun run = recorded_flow(stages, {.element_ns = 100'000, .step_ns = 90'000});
  EXPECT_THAT(what_ifs_of(run), ::testing::Not(::testing::HasSubstr("a step of half")));
  run.has_steps = true;
  EXPECT_THAT(what_ifs_of(run), ::testing::HasSubstr("a step of half the time"));
}

TEST(FlowModel, ACacheTakesTimeAndHandOversDoNot) {
  // Elements that come one by one cost the prefetch and the step's loop a thousand times what they
  // do when hundreds come at once.
  const std::vector<StageWork> stages = {{.name = "prefetch", .cpu_ns = 3'000, .runs_ahead = true},
                                         {.name = "map", .cpu_ns = 100'000, .runs_ahead = true},
                                         {.name = "range", .cpu_ns = 50}};
  const RecordedRun run =
      recorded_flow(stages, {.element_ns = 100'000, .step_ns = 400, .process_cpu_ns = 103'050});
  EXPECT_NEAR(gain_of(run, ChangeKind::cache, 1), 100'000 / 38.68 - 1, 1);
  // A map behind the cache stays.
  std::vector<StageWork> with_another = stages;
  with_another.insert(with_another.begin() + 1, {.name = "map", .cpu_ns = 20'000});
  EXPECT_NEAR(
      gain_of(recorded_flow(with_another, {.element_ns = 100'000, .process_cpu_ns = 123'050}),
              ChangeKind::cache, 2),
      100'000.0 / 20'000 - 1, 0.02);
}

}  // namespace
}  // namespace infeed::tools
