#include <memory>
#include <thread>
#include <vector>

#include <infeed/infeed.h>

#include "pipeline/suite/random_knobs.h"
#include "seeded_random.h"
#include "thrown_error.h"

namespace infeed::test {
namespace {

Dataset<std::int64_t> tuned(std::int64_t count = 20'000) {
  return range(count) |
         map([](std::int64_t number) { return 2 * number; }, {.parallelism = autotune}) |
         prefetch();
}

/// Keeps what it sees, and sets nothing.
class Watch final : public TuningPolicy {
 public:
  TuningDecision observe(const TuningObservation& seen) override {
    const std::lock_guard lock(mutex_);
    seen_.push_back(seen);
    return {};
  }
  std::vector<TuningObservation> seen() const {
    const std::lock_guard lock(mutex_);
    return seen_;
  }

 private:
  mutable std::mutex mutex_;
  std::vector<TuningObservation> seen_;
};

std::vector<TuningObservation> windows_of(const Dataset<std::int64_t>& dataset,
                                          std::vector<KnobBound> bounds = {}) {
  const auto watch = std::make_shared<Watch>();
  auto iterator = dataset.iterate({.tuner = {.bounds = std::move(bounds), .policy = watch}});
  while (iterator.next()) {
  }
  return watch->seen();
}

TEST(Knobs, AreThoseOfTheStagesThatAreMarkedAutotune) {
  const auto windows = windows_of(tuned());
  ASSERT_FALSE(windows.empty());
  const TuningObservation& first = windows.front();
  ASSERT_EQ(first.knobs.size(), 3u);
  const auto label = [&](const KnobState& knob) {
    return first.stages[static_cast<std::size_t>(knob.stage)].label;
  };
  EXPECT_EQ(label(first.knobs[0]), "map");
  EXPECT_EQ(first.knobs[0].shape, KnobShape::behind);
  EXPECT_EQ(first.knobs[0].min, 0);
  EXPECT_EQ(label(first.knobs[1]), "prefetch");
  EXPECT_EQ(first.knobs[1].kind, KnobKind::workers);
  EXPECT_EQ(first.knobs[2].kind, KnobKind::depth);
}

TEST(Knobs, WhatAPassTakesIsKnownOfStagesThatGiveTheSameInEachPass) {
  const auto watch = std::make_shared<Watch>();
  const auto numbers = range(1000) | map([](std::int64_t x) { return x; }, {.name = "same"}) |
                       shuffle({.buffer = 100, .seed = 1}) | repeat() |
                       map([](std::int64_t x) { return x; }, {.parallelism = autotune}) |
                       prefetch();
  auto iterator =
      numbers.iterate({.tuner = {.look_every = std::chrono::milliseconds(1), .policy = watch}});
  // Whatever the machine does, a pass is over.
  while (watch->seen().size() < 20 || iterator.position() < 2000) ASSERT_TRUE(iterator.next());
  const TuningObservation last = watch->seen().back();
  for (const StageObservation& stage : last.stages) {
    const bool is_same = stage.label == "map[1] 'same'" || stage.label == "range";
    EXPECT_EQ(stage.pass_bytes != 0, is_same) << stage.label;
    if (!is_same) continue;
    EXPECT_GT(stage.pass_bytes, 4000u) << stage.label;
    EXPECT_LT(stage.pass_bytes, 12'000u) << stage.label;
  }
}

TEST(Knobs, AreBoundedByTheUser) {
  const auto windows = windows_of(tuned(), {{.stage = "map", .min = 1, .max = 1}});
  ASSERT_FALSE(windows.empty());
  EXPECT_EQ(windows.front().knobs[0].value, 1);
  EXPECT_EQ(windows.front().knobs[0].min, 1);
  EXPECT_EQ(windows.front().knobs[0].max, 1);
}

TEST(Knobs, OfFixedStagesStay) {
  const auto dataset =
      range(2000) | map([](std::int64_t x) { return x; }, {.parallelism = 3}) | prefetch();
  auto iterator = dataset.iterate({.tuner = random_knobs(test_seed())});
  while (iterator.next()) {
  }
  for (const StageStatistics& stage : iterator.statistics().stages) {
    if (stage.name != "map") continue;
    EXPECT_EQ(stage.parallelism, 3);
  }
}

TEST(Knobs, BoundsOnAStageThatIsNotThereAreRefused) {
  EXPECT_EQ(
      error_of([] { tuned().iterate({.tuner = {.bounds = {{.stage = "mop", .max = 2}}}}); }).what(),
      std::string("invalid_argument: tuner: there is no stage 'mop' to be bounded; the stages are "
                  "'prefetch', "
                  "'map', 'range'"));
  EXPECT_EQ(error_of([] {
              tuned().iterate({.tuner = {.bounds = {{.stage = "map", .min = 3, .max = 2}}}});
            }).what(),
            std::string("invalid_argument: tuner: the bounds of 'map' are 3 to 2; give 0 or more, "
                        "and no more than "
                        "the second one"));
  EXPECT_EQ(error_of([] {
              tuned().iterate({.tuner = {.bounds = {{.stage = "map", .min = -1, .max = 2}}}});
            }).message(),
            "tuner: the bounds of 'map' are -1 to 2; give 0 or more, and no more than the second "
            "one");
  for (const std::int64_t only : {0, 2}) {
    EXPECT_NO_THROW(
        tuned().iterate({.tuner = {.bounds = {{.stage = "map", .min = only, .max = only}}}}));
  }
}

TEST(Knobs, OffIsTheFixedChoice) {
  auto iterator = tuned(100).iterate({.tuner = {.mode = TunerMode::off}});
  EXPECT_EQ(iterator.next(), 0);
  EXPECT_EQ(iterator.tuning().verdict,
            "nothing is tuned: what is marked autotune has its fixed choice");
  EXPECT_TRUE(iterator.tuning().changes.empty());
}

TEST(Knobs, FreezingMayComeAtAnyTime) {
  auto iterator = tuned().iterate({.tuner = random_knobs(test_seed())});
  std::thread other([&] { iterator.freeze_tuning(); });
  std::int64_t count = 0;
  while (const auto next = iterator.next()) EXPECT_EQ(*next, 2 * count++);
  other.join();
  EXPECT_EQ(count, 20'000);
}

TEST(Knobs, FormsChangeInMidStream) {
  SeededRandom random;
  for (int round = 0; round < 20; ++round) {
    auto iterator =
        (tuned() | map([](std::int64_t x) { return x + 1; }, {.parallelism = autotune}) |
         filter([](std::int64_t x) { return x % 3 != 0; }) | prefetch())
            .iterate({.tuner = random_knobs(random())});
    for (std::int64_t number = 0; number < 20'000; ++number) {
      if ((2 * number + 1) % 3 == 0) continue;
      ASSERT_EQ(iterator.next(), 2 * number + 1);
    }
    EXPECT_FALSE(iterator.next());
    EXPECT_EQ(iterator.memory().in_use_bytes(), 0u);
  }
}

}  // namespace
}  // namespace infeed::test
