#include <cstdint>
#include <vector>

#include "engine/threads/clock.h"
#include "engine/tuning/knobs.h"
#include "engine/work/queue_depth.h"
#include "matchers.h"

// Decisions on how much a queue holds, and the settings that a tuner changes. No thread runs here.
namespace infeed::test {
namespace {

using detail::Knob;
using detail::Knobs;
using detail::KnobSpec;
using detail::QueueDepth;
using detail::QueueLimits;
using detail::StageCounters;

constexpr double kUsPerSecond = 1e6;
/// A wait that is worth a deeper queue, however long the test takes.
std::uint64_t very_long() { return detail::ticks_of_us(1000 * kUsPerSecond); }

TEST(QueueDepth, HasRoomByEitherBound) {
  StageCounters counters;
  const QueueDepth depth(counters, {.elements_max = 10, .bytes_max = 1000, .adaptive = false});
  EXPECT_EQ(depth.room(4, 900, 100), 6U) << "by count";
  EXPECT_EQ(depth.room(4, 100, 50), 18U) << "by bytes";
  EXPECT_EQ(depth.room(10, 900, 50), 2U);
  EXPECT_EQ(depth.room(10, 950, 1), 50U);
  EXPECT_EQ(depth.room(10, 950, 0), 50U) << "elements that nobody has seen";
  EXPECT_EQ(depth.room(10, 1000, 50), 1U) << "at least one";
  EXPECT_EQ(depth.room(12, 1200, 50), 1U);
}

TEST(QueueDepth, DoublesUpTo32WheneverItWasFullAndThenEmpty) {
  StageCounters counters;
  QueueDepth depth(counters, QueueLimits::of_depth(2, true));
  EXPECT_TRUE(counters.is_tuned);
  EXPECT_FALSE(depth.take_was_full());
  depth.note_full();
  EXPECT_TRUE(depth.take_was_full());
  EXPECT_FALSE(depth.take_was_full());
  const std::uint64_t now = detail::ticks_now();
  depth.note_wait(false, now, very_long());
  EXPECT_EQ(counters.queue_max.elements, 2U);
  for (const std::uint64_t expected : {4U, 8U, 16U, 32U, 32U}) {
    depth.note_wait(true, now, detail::ticks_of_us(200));
    EXPECT_EQ(counters.queue_max.elements, expected);
    EXPECT_EQ(counters.queue_max.bytes, expected * 16 * 1024);
  }
}

TEST(QueueDepth, DoublesBeyondThatIfStallsTakeA32ndOfTheTime) {
  StageCounters counters;
  QueueDepth depth(counters, QueueLimits::of_depth(32, true));
  const std::uint64_t now = detail::ticks_now();
  const std::uint64_t begin = now - detail::ticks_of_us(10'000 * kUsPerSecond);
  const std::uint64_t stall = detail::ticks_of_us(310 * kUsPerSecond);  // 32 of them take 9,920 s
  depth.note_wait(false, begin, stall);
  depth.note_wait(true, now, stall);
  EXPECT_EQ(counters.queue_max.elements, 32U);
  depth.note_wait(true, now, stall);
  EXPECT_EQ(counters.queue_max.elements, 64U);
  depth.note_wait(true, now, detail::ticks_of_us(60 * kUsPerSecond));
  EXPECT_EQ(counters.queue_max.elements, 128U) << "the time since it grew counts";
}

TEST(QueueDepth, EndsAt4096) {
  StageCounters counters;
  QueueDepth depth(counters, QueueLimits::of_depth(2048, true));
  for (int i = 0; i < 2; ++i) {
    depth.note_wait(true, detail::ticks_now(), very_long());
    EXPECT_EQ(counters.queue_max.elements, 4096U);
  }
}

TEST(QueueDepth, IsSetByAUserOrATuner) {
  StageCounters counters;
  QueueDepth depth(counters, QueueLimits::of_depth(2, false));
  EXPECT_FALSE(counters.is_tuned);
  depth.note_wait(true, detail::ticks_now(), very_long());
  EXPECT_EQ(counters.queue_max.elements, 2U) << "it isn't adaptive";
  depth.note_full();
  depth.set(5);
  EXPECT_EQ(counters.queue_max.elements, 5U);
  EXPECT_EQ(counters.queue_max.bytes, 5U * 16 * 1024);
  EXPECT_FALSE(depth.take_was_full()) << "that was the queue of the other depth";
  EXPECT_FALSE(counters.is_tuned);
}

/// A knob, and the values that it was set to.
struct SetKnob {
  SetKnob(Knobs& knobs, const StageCounters& counters, const KnobSpec& spec)
      : knob(knobs, counters, spec, [this](std::int64_t value) { values.push_back(value); }) {}

  std::vector<std::int64_t> values;
  Knob knob;
};

std::vector<KnobState> all_states(Knobs& knobs) {
  return knobs.states([](const StageCounters& counters) { return counters.depth; });
}

void expect_state(Knobs& knobs, std::int64_t value, std::int64_t min, std::int64_t max) {
  const std::vector<KnobState> states = all_states(knobs);
  ASSERT_EQ(states.size(), 1U);
  EXPECT_EQ(states[0].value, value);
  EXPECT_EQ(states[0].min, min);
  EXPECT_EQ(states[0].max, max);
}

TEST(QueueDepth, TellsItsKnob) {
  StageCounters counters;
  counters.depth = 7;
  Knobs knobs({});
  SetKnob set(knobs, counters, {.kind = KnobKind::depth, .value = 8, .min = 1, .max = 20});
  QueueDepth depth(counters, QueueLimits::of_depth(8, true));
  depth.note_level(1, 0);  // there is none yet
  depth.set_knob(set.knob);
  const std::uint64_t now = detail::ticks_now();
  depth.note_wait(true, now, very_long());
  EXPECT_EQ(counters.queue_max.elements, 16U);
  EXPECT_EQ(set.knob.value(), 16);
  depth.note_wait(true, now, very_long());
  EXPECT_EQ(counters.queue_max.elements, 16U) << "32 is more than the knob allows";
  depth.note_level(3, 5 * 16 * 1024);
  depth.note_level(7, 0);
  depth.note_level(6, 6 * 16 * 1024);
  const auto states = all_states(knobs);
  ASSERT_EQ(states.size(), 1U);
  EXPECT_EQ(states[0].low, 5);
  EXPECT_EQ(states[0].stage, 7);
  EXPECT_EQ(all_states(knobs).at(0).low, 0) << "nothing was noted since";
}

TEST(KnobsAlone, KeepToTheBoundsOfTheirStageAndKind) {
  StageCounters map;
  map.label = "map";
  Knobs knobs({{.stage = "map", .kind = KnobKind::workers, .min = 2, .max = 6},
               {.stage = "filter", .kind = KnobKind::workers, .min = 3, .max = 3}});
  EXPECT_FALSE(knobs.can_change());
  {
    const SetKnob depth(knobs, map, {.kind = KnobKind::depth, .value = 1, .min = 0, .max = 10});
    expect_state(knobs, 1, 0, 10);
    EXPECT_EQ(depth.knob.max(), 10);
  }
  EXPECT_TRUE(knobs.can_change());
  const SetKnob workers(knobs, map, {.kind = KnobKind::workers, .value = 1, .min = 0, .max = 10});
  expect_state(knobs, 2, 2, 6);
  EXPECT_EQ(workers.knob.value(), 2);
  EXPECT_EQ(workers.knob.max(), 6);
  const std::uint64_t id = all_states(knobs).at(0).id;
  for (const std::int64_t value : {9, 6, 0, 4}) knobs.set(id, value);
  knobs.set(id + 1, 5);
  EXPECT_THAT(workers.values, ElementsAre(6, 2, 4)) << "6 comes once";
  expect_state(knobs, 4, 2, 6);
}

TEST(KnobsAlone, HaveABoundBeyondWhatTheirStageCanDo) {
  StageCounters map;
  map.label = "map";
  Knobs knobs({{.stage = "map", .kind = KnobKind::workers, .min = 2, .max = 6}});
  const SetKnob workers(knobs, map, {.kind = KnobKind::workers, .value = 1, .min = 0, .max = 1});
  expect_state(knobs, 1, 1, 1);
  knobs.set(all_states(knobs).at(0).id, 6);
  EXPECT_THAT(workers.values, IsEmpty());
}

TEST(KnobsAlone, AreFixedByTheUserOrABound) {
  StageCounters map;
  map.label = "map";
  Knobs knobs({{.stage = "map", .kind = KnobKind::workers, .min = 6, .max = 8},
               {.stage = "map", .kind = KnobKind::depth, .min = 3, .max = 3}});
  {
    const SetKnob given(knobs, map, {.kind = KnobKind::workers, .value = 4, .min = 4, .max = 4});
    expect_state(knobs, 4, 4, 4);
    knobs.set(all_states(knobs).at(0).id, 7);
    EXPECT_THAT(given.values, IsEmpty());
    expect_state(knobs, 4, 4, 4);
  }
  const SetKnob bound(knobs, map, {.kind = KnobKind::depth, .value = 4, .min = 0, .max = 9});
  expect_state(knobs, 3, 3, 3);
  EXPECT_FALSE(knobs.can_change());
}

TEST(KnobsAlone, OfALaterPassGoOnWithTheLastValue) {
  StageCounters map;
  Knobs knobs({});
  const KnobSpec spec{.kind = KnobKind::workers, .value = 1, .min = 0, .max = 10};
  std::uint64_t id = 0;
  {
    const SetKnob first(knobs, map, spec);
    id = all_states(knobs).at(0).id;
    knobs.set(id, 5);
  }
  EXPECT_THAT(all_states(knobs), IsEmpty());
  {
    SetKnob second(knobs, map, spec);
    EXPECT_EQ(second.knob.value(), 5);
    const SetKnob beside(knobs, map, spec);
    const auto states = all_states(knobs);
    ASSERT_EQ(states.size(), 1U) << "both are one setting";
    EXPECT_EQ(states[0].id, id);
    EXPECT_FALSE(states[0].waits);
    knobs.set(id, 7);
    EXPECT_THAT(second.values, ElementsAre(7));
    EXPECT_THAT(beside.values, ElementsAre(7));
    EXPECT_EQ(second.knob.note_waits(12, 11), 11);
    EXPECT_TRUE(all_states(knobs).at(0).waits);
    second.knob.refuse();
  }
  const SetKnob third(knobs, map, spec);
  const SetKnob other(knobs, map, {.kind = KnobKind::depth, .value = 1, .min = 0, .max = 10});
  const auto states = all_states(knobs);
  ASSERT_EQ(states.size(), 2U);
  EXPECT_NE(states[1].id, id);
}

TEST(KnobsAlone, ThatWereRefusedStayAtNothing) {
  StageCounters map;
  Knobs knobs({});
  const KnobSpec spec{.kind = KnobKind::workers, .value = 3, .min = 0, .max = 10};
  {
    SetKnob first(knobs, map, spec);
    first.knob.refuse();
  }
  const SetKnob second(knobs, map, spec);
  expect_state(knobs, 0, 0, 0);
  knobs.set(all_states(knobs).at(0).id, 5);
  EXPECT_THAT(second.values, IsEmpty());
}

TEST(KnobsAlone, OfInnerDatasetsAndOfStagesThatNobodySeesStayAsTheyAre) {
  StageCounters outer;
  StageCounters inner;
  inner.outer = &outer;
  Knobs knobs({});
  const KnobSpec spec{.kind = KnobKind::workers, .value = 3, .min = 0, .max = 10};
  const SetKnob set(knobs, inner, spec);
  EXPECT_THAT(all_states(knobs), IsEmpty());
  EXPECT_EQ(set.knob.value(), 3);
  EXPECT_FALSE(knobs.can_change());
  outer.depth = -1;
  const SetKnob unseen(knobs, outer, spec);
  EXPECT_THAT(all_states(knobs), IsEmpty());
  EXPECT_TRUE(knobs.can_change());
}

}  // namespace
}  // namespace infeed::test
