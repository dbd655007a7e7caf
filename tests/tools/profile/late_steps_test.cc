#include <cstdint>
#include <gtest/gtest.h>
#include <string>
#include <utility>

#include "profile/profile_report.h"
#include "profile/recorded_run.h"

/// Made-up recordings with one late step each, and its explanation.
/// tests/tools/profile/blame_test.cc and benchmarks/blame.sh ask the same of real ones.
namespace infeed::tools {
namespace {

constexpr std::uint64_t kMs = 1'000'000;
constexpr std::uint64_t kSteps = 200;
constexpr std::uint64_t kLate = 100;  ///< number of the late step
constexpr std::uint64_t kLateWindowNs = 100 * kMs;
constexpr int kMap = 2, kRecords = 3;

/// prefetch < batch < map < records; a step takes 10 ms, 1 ms of which is waiting.
class LateSteps : public ::testing::Test {
 protected:
  LateSteps() {
    run_.cores = 2;
    run_.has_steps = true;
    const char* const names[] = {"prefetch", "batch", "map", "records"};
    for (int id = 0; id < 4; ++id) {
      run_.stages.push_back({.id = id,
                             .name = names[id],
                             .label = names[id],
                             .consumer = id - 1,
                             .runs_ahead = id == 0});
    }
    run_.call_histograms.assign(4, std::vector<std::uint64_t>(20, 0));
    run_.call_histograms[kMap][13] = 1000;  // calls of about 10 us
  }

  /// Returns the late step, whose times can be changed.
  static RecordedStep ordinary() {
    return {.infeed_wait_ns = kMs, .compute_ns = 8 * kMs, .idle_ns = kMs};
  }
  /// The run of which one step is this one.
  void add_steps(RecordedStep late) {
    std::uint64_t now = 0;
    for (std::uint64_t n = 0; n < kSteps; ++n) {
      RecordedStep step = n == kLate ? late : ordinary();
      step.number = n;
      step.begin_ns = now;
      now = step.end_ns();
      run_.steps.push_back(std::move(step));
    }
    for (std::uint64_t begin = 0; begin < now; begin += kLateWindowNs) {
      run_.windows.push_back({.begin_ns = begin,
                              .length_ns = kLateWindowNs,
                              .elements = 10,
                              .consumer_wait_ns = kLateWindowNs / 10,
                              .cores = 2,
                              .stages = {{.stage = kMap, .elements = 160, .cpu_ns = 30 * kMs}}});
    }
  }
  void add_steps_of_which_one_waits(std::uint64_t ns) {
    RecordedStep late = ordinary();
    late.infeed_wait_ns += ns;
    add_steps(late);
  }
  void add_steps_of_which_one_computes(std::uint64_t ns) {
    RecordedStep late = ordinary();
    late.compute_ns += ns;
    add_steps(late);
  }
  /// The map's call from 60 ms before the late step on.
  void computes_before_the_wait(std::uint64_t took_ns) {
    run_.slow_calls = {{.begin_ns = late_begin_ns() - 60 * kMs,
                        .took_ns = took_ns,
                        .cpu_ns = took_ns,
                        .stage = kMap}};
  }
  RecordedWindow& window_at(std::uint64_t at_ns) { return run_.windows.at(at_ns / kLateWindowNs); }
  static constexpr std::uint64_t late_begin_ns() { return kLate * 10 * kMs; }

  LateStep the_late_step() {
    std::vector<LateStep> late = explain(run_).late_steps;
    EXPECT_EQ(late.size(), 1U);
    if (late.empty()) return {};
    EXPECT_EQ(late.front().step, kLate);
    return late.front();
  }
  void expect_said(Cause cause, const std::string& sentence) {
    const LateStep said = the_late_step();
    EXPECT_EQ(said.cause, cause);
    EXPECT_EQ(said.sentence, sentence);
  }

  RecordedRun run_;
};

TEST_F(LateSteps, NoneWhereAllAreAlike) {
  add_steps(ordinary());
  EXPECT_TRUE(explain(run_).late_steps.empty());
}

TEST_F(LateSteps, AStepThatComputesLong) {
  add_steps_of_which_one_computes(20 * kMs);
  expect_said(Cause::slow_step, "the step itself took 29 ms; its input was there");
}

TEST_F(LateSteps, AStepThatComputesLongBesideOtherProcesses) {
  add_steps_of_which_one_computes(20 * kMs);
  window_at(late_begin_ns()).cores_of_others = 1.5;
  expect_said(Cause::others_on_cores,
              "the step itself took 29 ms, while other processes had 1.5 of 2 cores");
}

TEST_F(LateSteps, TheVerdictWeighsTimeRatherThanSteps) {
  RecordedStep late = ordinary();
  late.compute_ns += 2000 * kMs;
  late.name = "compiles";
  add_steps(late);
  for (std::size_t n = 10; n < 18; ++n) run_.steps[n].compute_ns += 20 * kMs;
  const ProfileReport report = explain(run_);
  EXPECT_EQ(report.late_steps.size(), 9U);
  EXPECT_TRUE(report.verdict.ends_with("; 2.0 s of the 2.2 s that steps came late: recompilation"))
      << report.verdict;
}

TEST_F(LateSteps, TheVerdictNamesOtherProcesses) {
  add_steps(ordinary());
  for (RecordedWindow& window : run_.windows) window.cores_of_others = 1.1;
  const std::string verdict = explain(run_).verdict;
  EXPECT_TRUE(verdict.ends_with("; other processes had 1.1 of the 2 cores")) << verdict;
}

TEST_F(LateSteps, AStepThatTheQuotaHeldBack) {
  add_steps_of_which_one_computes(20 * kMs);
  // Shorter than a window, and elsewhere once more.
  run_.held_back = {{200 * kMs, 290 * kMs},
                    {late_begin_ns() + 5 * kMs, late_begin_ns() + 20 * kMs}};
  expect_said(Cause::quota, "the CPU quota held the process back, and the step itself took 29 ms");
}

TEST_F(LateSteps, AQuotaElsewhereIsNotToBlame) {
  add_steps_of_which_one_computes(20 * kMs);
  run_.held_back = {{late_begin_ns() - 90 * kMs, late_begin_ns() - kMs}};
  window_at(late_begin_ns()).throttled_ns = 90 * kMs;  // without an interval of its own it doesn't
                                                       // count
  EXPECT_EQ(the_late_step().cause, Cause::slow_step);
}

TEST_F(LateSteps, WithoutIntervalsTheWindowsTellOfAQuota) {
  add_steps_of_which_one_waits(20 * kMs);
  window_at(late_begin_ns()).throttled_ns = 15 * kMs;
  expect_said(Cause::quota, "the CPU quota held the process back while the step waited 21 ms");
}

TEST_F(LateSteps, ALoopThatDidSomethingElse) {
  RecordedStep late = ordinary();
  late.idle_ns += 50 * kMs;
  add_steps(late);
  expect_said(
      Cause::paused_consumer,
      "the training loop did something else for 51 ms before the step; its input was there");
}

TEST_F(LateSteps, AStepThatSaysItsName) {
  RecordedStep late = ordinary();
  late.compute_ns += 50 * kMs;
  late.name = "recompilation";
  add_steps(late);
  EXPECT_EQ(the_late_step().cause, Cause::recompilation);
}

TEST_F(LateSteps, AMemoryLimitThatLeftNoRoomToReadAhead) {
  add_steps_of_which_one_waits(20 * kMs);
  window_at(late_begin_ns()).memory_refusals = 3;
  expect_said(Cause::memory_limit, "the memory limit left no room to read ahead");
}

TEST_F(LateSteps, AMemoryThatIsFullMostly) {
  add_steps_of_which_one_waits(20 * kMs);
  window_at(late_begin_ns() - kLateWindowNs).memory_bytes = 95;
  window_at(late_begin_ns() - kLateWindowNs).memory_limit_bytes = 100;
  EXPECT_EQ(the_late_step().cause, Cause::memory_limit);
}

TEST_F(LateSteps, RefusalsOfLongAgoAreNotToBlame) {
  add_steps_of_which_one_waits(20 * kMs);
  window_at(late_begin_ns() - 5 * kLateWindowNs).memory_refusals = 3;
  EXPECT_EQ(the_late_step().cause, Cause::unknown);
}

TEST_F(LateSteps, AStageThatWorkedThroughTheWait) {
  add_steps_of_which_one_waits(20 * kMs);
  window_at(late_begin_ns()).stages[0].cpu_ns += 15 * kMs;
  const LateStep said = the_late_step();
  EXPECT_EQ(said.cause, Cause::starved);
  EXPECT_EQ(said.stage, kMap);
  EXPECT_EQ(said.sentence, "map gives less than the step takes");
}

TEST_F(LateSteps, AStageThatWorkedAsEverIsNotToBlame) {
  add_steps_of_which_one_waits(20 * kMs);
  const LateStep said = the_late_step();
  EXPECT_EQ(said.cause, Cause::unknown);
  EXPECT_EQ(said.stage, -1);
  EXPECT_EQ(said.sentence, "nothing that was recorded explains it");
}

TEST_F(LateSteps, AStallBeforeTheWaitMakesNoStageLookBusy) {
  add_steps_of_which_one_waits(20 * kMs);
  computes_before_the_wait(63 * kMs);
  window_at(late_begin_ns()).stages[0].cpu_ns += 63 * kMs;
  EXPECT_EQ(the_late_step().cause, Cause::unknown);

  // Work of other calls in the wait counts as before.
  window_at(late_begin_ns()).stages[0].cpu_ns += 12 * kMs;
  EXPECT_EQ(the_late_step().cause, Cause::starved);
}

TEST_F(LateSteps, WhatIsLeftOfAStallIsNotToBlameForAShortWait) {
  add_steps_of_which_one_waits(6 * kMs);
  computes_before_the_wait(60 * kMs);
  StageWindow& map = window_at(late_begin_ns()).stages[0];
  map.cpu_ns += 63 * kMs;  // by samples: 5 % more than it took
  EXPECT_EQ(the_late_step().cause, Cause::unknown);
  map.cpu_ns += 4 * kMs;
  EXPECT_EQ(the_late_step().cause, Cause::starved);
}

TEST_F(LateSteps, TheTunerChangedSomething) {
  add_steps_of_which_one_waits(20 * kMs);
  run_.tuning = {{late_begin_ns() + 2 * kMs, "map 1 -> 2"}};
  expect_said(Cause::tuner_change, "the tuner changed a setting: map 1 -> 2");
}

TEST_F(LateSteps, ACallThatCoversTheWaitIsNamedWithItsRecord) {
  add_steps_of_which_one_waits(20 * kMs);
  run_.slow_calls = {{.begin_ns = late_begin_ns() - 10 * kMs,
                      .took_ns = 30 * kMs,
                      .cpu_ns = 29 * kMs,
                      .stage = kMap,
                      .position = 1605,
                      .place = RecordedPlace{.file = "part-1", .record = 605}}};
  LateStep said = the_late_step();
  EXPECT_EQ(said.cause, Cause::slow_element);
  EXPECT_EQ(said.stage, kMap);
  EXPECT_EQ(said.sentence, "map computed 30 ms on an element: part-1 record 605");

  run_.slow_calls[0].cpu_ns = kMs;
  run_.slow_calls[0].waited_in = "lock";
  run_.slow_calls[0].place = std::nullopt;
  run_.slow_calls[0].untraceable = "generate makes its elements itself";
  expect_said(
      Cause::waiting_function,
      "the function of map waited 30 ms (lock): element 1605, not traced (generate makes its "
      "elements itself)");

  run_.slow_calls[0].waited_in = "";
  run_.slow_calls[0].preempted_ns = 28 * kMs;
  EXPECT_EQ(the_late_step().cause, Cause::others_on_cores);

  run_.slow_calls[0].preempted_ns = 0;
  run_.held_back = {{late_begin_ns() - 9 * kMs, late_begin_ns() + 19 * kMs}};
  EXPECT_EQ(the_late_step().cause, Cause::quota) << "off its core, and waiting nowhere";
}

TEST_F(LateSteps, ACallThatAlsoLostItsCoreIsBlamedForTheLargerPart) {
  add_steps_of_which_one_waits(100 * kMs);
  run_.slow_calls = {{.begin_ns = late_begin_ns(),
                      .took_ns = 120 * kMs,
                      .cpu_ns = 50 * kMs,
                      .preempted_ns = 30 * kMs,
                      .stage = kMap,
                      .place = RecordedPlace{.file = "part-1", .record = 605}}};
  LateStep said = the_late_step();
  EXPECT_EQ(said.cause, Cause::slow_element) << "waited for 40 ms at most";
  EXPECT_EQ(said.sentence, "map computed 50 ms of 120 ms on an element: part-1 record 605");

  run_.slow_calls[0].preempted_ns = 0;
  EXPECT_EQ(the_late_step().cause, Cause::slow_element) << "nobody saw it wait for 70 ms";

  run_.slow_calls[0].waited_in = "lock";
  EXPECT_EQ(the_late_step().cause, Cause::waiting_function);

  run_.slow_calls[0].waited_in = "";
  run_.slow_calls[0].cpu_ns = 30 * kMs;
  EXPECT_EQ(the_late_step().cause, Cause::waiting_function);
}

TEST_F(LateSteps, ReadsOfASourceAreReads) {
  add_steps_of_which_one_waits(20 * kMs);
  run_.slow_calls = {{.begin_ns = late_begin_ns(),
                      .took_ns = 20 * kMs,
                      .cpu_ns = kMs,
                      .stage = kRecords,
                      .place = RecordedPlace{.file = "part-1", .record = 600, .count = 16}}};
  expect_said(Cause::slow_read, "records took 20 ms for a read: part-1 records 600 to 615");
}

TEST_F(LateSteps, ACallThatTakesWhatItsStageUsuallyTakesHoldsNobodyUp) {
  add_steps_of_which_one_waits(20 * kMs);
  run_.slow_calls = {
      {.begin_ns = late_begin_ns(), .took_ns = 20 * kMs, .cpu_ns = 20 * kMs, .stage = kMap}};
  run_.call_histograms[kMap] = std::vector<std::uint64_t>(30, 0);
  run_.call_histograms[kMap][24] = 1000;  // about 25 ms
  window_at(late_begin_ns()).stages[0].cpu_ns += 15 * kMs;
  EXPECT_EQ(the_late_step().cause, Cause::starved);
}

TEST_F(LateSteps, OtherProcessesHadTheCores) {
  add_steps_of_which_one_waits(20 * kMs);
  window_at(late_begin_ns()).cores_of_others = 1.8;
  expect_said(Cause::others_on_cores, "other processes had 1.8 of 2 cores");
}

}  // namespace
}  // namespace infeed::tools
