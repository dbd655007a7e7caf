#include "engine/tuning/observer.h"

#include <atomic>
#include <chrono>
#include <cstdint>
#include <gtest/gtest.h>
#include <utility>

#include <infeed/infeed.h>

#include "engine/iterator_context.h"
#include "engine/stage_counters.h"
#include "engine/threads/clock.h"
#include "engine/threads/cpu_limits.h"
#include "engine/tuning/group_memory.h"
#include "engine/tuning/knobs.h"
#include "pipeline/suite/busy.h"

// The figures that a tuner is shown. The tests count; no stage runs here.
namespace infeed::test {
namespace {

using detail::Knob;
using detail::KnobSpec;
using detail::ns_of_ticks;
using detail::StageCounters;

TEST(TuningObserver, SeesWhatHasHappenedSinceTheLastLook) {
  const auto dataset = range(100) | batch(4);
  IteratorContext run(IterateOptions{.memory_bytes_max = 1000});
  StageCounters& first = run.counters().of_stage(*dataset.node(), nullptr, 0);
  StageCounters& second = run.counters().of_stage(dataset.node()->input(), &first, 0);
  StageCounters elsewhere;
  const KnobSpec spec{.kind = KnobKind::workers, .value = 1, .min = 0, .max = 9};
  const Knob unseen(run.knobs(), elsewhere, spec, [](std::int64_t) {});
  const Knob seen(run.knobs(), second, spec, [](std::int64_t) {});
  std::atomic<std::uint64_t> taken = 7;
  detail::TuningObserver observer(run, taken);
  first.elements = 10;
  first.buffered.set(2, 16);
  first.sampled.set(4, 100);
  run.memory().hold_best_effort(30);
  run.memory().reserve_required(50, "batch");
  const TuningObservation before = observer.look();
  EXPECT_EQ(before.elements, 7U);
  EXPECT_EQ(before.memory_bytes, 80U);
  EXPECT_EQ(before.ready_bytes, 30U);
  EXPECT_EQ(before.memory_limit_bytes, 1000U);
  ASSERT_EQ(before.stages.size(), 2U);
  EXPECT_EQ(before.stages[0].label, "batch");
  EXPECT_EQ(before.stages[0].consumer, -1);
  EXPECT_EQ(before.stages[0].elements, 10U);
  EXPECT_EQ(before.stages[0].buffered_elements, 2U);
  EXPECT_EQ(before.stages[0].pass_bytes, 0U) << "there was one pass";
  EXPECT_EQ(before.stages[1].label, "range");
  EXPECT_EQ(before.stages[1].consumer, 0);
  ASSERT_EQ(before.knobs.size(), 1U);
  EXPECT_EQ(before.knobs[0].stage, 1);
  taken = 12;
  first.elements = 13;
  const TuningObservation behind = observer.look();
  EXPECT_EQ(behind.elements, 5U);
  EXPECT_EQ(behind.stages[0].elements, 3U);
}

TEST(TuningObserver, KnowsTheBytesOfAPassIfAllPassesAreAlike) {
  const auto dataset = range(100);
  IteratorContext run(IterateOptions{});
  StageCounters& stage = run.counters().of_stage(*dataset.node(), nullptr, 0);
  const std::atomic<std::uint64_t> taken = 0;
  detail::TuningObserver observer(run, taken);
  stage.elements = 10;
  stage.sampled.set(4, 100);  // 250 bytes in all
  const auto pass_bytes = [&] { return observer.look().stages.at(0).pass_bytes; };
  for (const auto& [passes, expected] :
       {std::pair(1U, 0U), std::pair(2U, 166U), std::pair(3U, 100U)}) {
    stage.passes = passes;
    EXPECT_EQ(pass_bytes(), expected) << "the pass under way counts as half of one: " << passes;
  }
  stage.passes_may_differ = true;
  EXPECT_EQ(pass_bytes(), 0U);
  stage.passes_may_differ = false;
  const StageCounters outer;
  stage.outer = &outer;
  EXPECT_EQ(pass_bytes(), 0U) << "inner datasets differ";
}

/// Less than a millisecond of computing, by clocks that may differ a little.
constexpr std::uint64_t kComputedNs = 900'000;

TEST(TuningObserver, SeesTheTimesOfTheWindow) {
  const auto dataset = range(100) | batch(4);
  IteratorContext run(IterateOptions{});
  StageCounters& first = run.counters().of_stage(*dataset.node(), nullptr, 0);
  StageCounters& second = run.counters().of_stage(dataset.node()->input(), &first, 0);
  const std::atomic<std::uint64_t> taken = 0;
  detail::TuningObserver observer(run, taken);
  run.counters().note_begin();
  compute_for(std::chrono::milliseconds(1));
  first.pull_time.ticks = 900'000;
  second.pull_time.ticks = 400'000;
  second.pull_time.add_sample(40'000, ns_of_ticks(40'000) / 4);
  const TuningObservation before = observer.look();
  EXPECT_GE(before.at_ns, kComputedNs);
  EXPECT_EQ(before.window_ns, before.at_ns);
  EXPECT_EQ(before.consumer_wait_ns, ns_of_ticks(900'000));
  EXPECT_GE(before.process_cpu_ns, kComputedNs);
  EXPECT_EQ(before.stages.at(0).cpu_ns, ns_of_ticks(500'000)) << "without samples";
  EXPECT_EQ(before.stages.at(0).blocked_ns, 0U);
  const StageObservation& sampled = before.stages.at(1);
  EXPECT_EQ(sampled.cpu_ns + sampled.blocked_ns, ns_of_ticks(400'000));
  EXPECT_NEAR(static_cast<double>(sampled.cpu_ns), static_cast<double>(ns_of_ticks(100'000)), 60);
  compute_for(std::chrono::milliseconds(1));
  const TuningObservation behind = observer.look();
  EXPECT_GE(behind.window_ns, kComputedNs);
  EXPECT_EQ(behind.at_ns, before.at_ns + behind.window_ns);
  EXPECT_EQ(behind.consumer_wait_ns, 0U);
  EXPECT_GE(behind.process_cpu_ns, kComputedNs);
  EXPECT_EQ(behind.stages.at(0).cpu_ns, 0U);
}

TEST(TuningObserver, SeesWhatTheProcessMayUse) {
  const auto dataset = range(100) | batch(4);
  IteratorContext run(IterateOptions{});
  StageCounters& first = run.counters().of_stage(*dataset.node(), nullptr, 0);
  StageCounters& second = run.counters().of_stage(dataset.node()->input(), &first, 0);
  second.outer = &first;
  const std::atomic<std::uint64_t> taken = 0;
  const TuningObservation seen = detail::TuningObserver(run, taken).look();
  EXPECT_EQ(seen.cores, detail::usable_cpu_time());
  const detail::GroupMemory group = detail::group_memory("/sys/fs/cgroup", "/proc/self/cgroup");
  EXPECT_EQ(seen.group_limit_bytes, group.limit_bytes);
  EXPECT_EQ(seen.group_bytes > 0, group.in_use_bytes > 0);
  EXPECT_EQ(seen.stages.at(0).inside, -1);
  EXPECT_EQ(seen.stages.at(1).inside, 0);
}

}  // namespace
}  // namespace infeed::test
