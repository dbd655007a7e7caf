#include <atomic>
#include <chrono>
#include <memory>
#include <string>

#include <infeed/infeed.h>

#include "pipeline/suite/stage_suite.h"
#include "thrown_error.h"

namespace infeed::test {
namespace {

template <class Check>
void for_each_cached(const Check& check) {
  check(std::type_identity<std::int64_t>());
  check(std::type_identity<std::string>());
  check(std::type_identity<OverAligned>());
}

// The suite also drives the knobs of its pipelines at random.
TEST(OptionalCache, PassesTheSuite) {
  for_each_cached([]<class T>(std::type_identity<T>) {
    run_stage_suite_on<T>([](auto dataset) { return dataset | optional_cache(); },
                          [](const Slots& in) { return show_all(in); });
  });
}

TEST(OptionalCache, PassesTheSuiteWhenItIsReadAgain) {
  for_each_cached([]<class T>(std::type_identity<T>) {
    run_stage_suite_on<T>([](auto dataset) { return dataset | optional_cache() | repeat(2); },
                          show_twice);
  });
}

/// Takes three passes over 1,000 numbers, counting how many were made.
class ThreePasses {
 public:
  std::vector<std::int64_t> run(IterateOptions options) {
    const auto dataset = range(1000) | map([this](std::int64_t x) {
                           ++made_;
                           return 2 * x;
                         }) |
                         optional_cache() | repeat(3);
    auto iterator = dataset.iterate(std::move(options));
    std::vector<std::int64_t> values;
    while (const auto value = iterator.next()) values.push_back(*value);
    return values;
  }
  int made() const { return made_; }

 private:
  std::atomic<int> made_ = 0;
};

std::vector<std::int64_t> three_times_doubled() {
  std::vector<std::int64_t> values;
  for (std::int64_t i = 0; i < 3000; ++i) values.push_back(2 * (i % 1000));
  return values;
}

KnobBound bound(std::int64_t min, std::int64_t max) {
  return {.stage = "optional_cache", .kind = KnobKind::cache, .min = min, .max = max};
}

TEST(OptionalCache, KeepsNothingWithoutATuner) {
  ThreePasses passes;
  EXPECT_EQ(passes.run({.tuner = {.mode = TunerMode::off}}), three_times_doubled());
  EXPECT_EQ(passes.made(), 3000);
}

TEST(OptionalCache, KeepsTheFirstPassWhereTheUserBoundsItSo) {
  ThreePasses passes;
  EXPECT_EQ(passes.run({.tuner = {.bounds = {bound(1, 1)}}}), three_times_doubled());
  EXPECT_EQ(passes.made(), 1000);
}

TEST(OptionalCache, GoesOnWithoutWhereThereIsNoRoom) {
  ThreePasses passes;
  // The limit has room for a part of a pass's 8 KB.
  EXPECT_EQ(passes.run({.memory_bytes_max = 6000, .tuner = {.bounds = {bound(1, 1)}}}),
            three_times_doubled());
  EXPECT_EQ(passes.made(), 3000);
}

TEST(OptionalCache, GivesUpWhatItFillsForALowerLimit) {
  std::atomic<int> made = 0;
  const auto numbers = range(1000) | map([&](std::int64_t x) {
                         ++made;
                         return x;
                       }) |
                       optional_cache() | repeat(3);
  auto iterator =
      numbers.iterate({.memory_bytes_max = 1 << 20, .tuner = {.bounds = {bound(1, 1)}}});
  std::int64_t expected = 0;
  for (int i = 0; i < 500; ++i) EXPECT_EQ(iterator.next(), expected++);
  EXPECT_GT(iterator.memory().in_use_bytes(), 2000u);
  iterator.set_memory_limit(2000);
  EXPECT_LE(iterator.memory().in_use_bytes(), 2000u);
  while (const auto number = iterator.next()) EXPECT_EQ(number, expected++ % 1000);
  EXPECT_EQ(expected, 3000);
  EXPECT_EQ(made, 3000);
}

TEST(OptionalCache, GivesUpWhatItFillsBeforeAnotherStageIsRefused) {
  // The cache holds 32 KB of the 45 KB for required memory, and the shuffle needs 25.
  const auto passed = range(2000) | optional_cache() | skip(1900);
  const auto shuffled =
      passed | map([](std::int64_t x) { return std::string(200, '0') + std::to_string(x); }) |
      shuffle({.buffer = 100, .seed = 5, .reshuffle_each_iteration = false});
  const auto stream = [&](std::int64_t keeps, std::uint64_t memory_bytes_max) {
    return stream_of(shuffled, {.memory_bytes_max = memory_bytes_max,
                                .tuner = {.bounds = {bound(keeps, keeps)}}});
  };
  EXPECT_EQ(stream(1, 60'000), stream(0, 0));
}

TEST(OptionalCache, ThatIsReadKeepsItsContentForThePass) {
  const auto numbers = range(1000) | optional_cache() | repeat(2);
  auto iterator =
      numbers.iterate({.memory_bytes_max = 1 << 20, .tuner = {.bounds = {bound(1, 1)}}});
  std::int64_t expected = 0;
  for (int i = 0; i < 1500; ++i) EXPECT_EQ(iterator.next(), expected++ % 1000);
  EXPECT_EQ(error_of([&] { iterator.set_memory_limit(2000); }).code(),
            ErrorCode::resource_exhausted);
  while (const auto number = iterator.next()) EXPECT_EQ(number, expected++ % 1000);
  EXPECT_EQ(expected, 2000);
}

TEST(OptionalCache, RunsWhatIsBeforeItAsInTheFirstPassInEachWay) {
  const auto twice = [](std::int64_t keeps) {
    const auto dataset =
        range(500) | shuffle({.buffer = 100, .seed = 3}) | optional_cache() | repeat(2);
    auto iterator = dataset.iterate({.tuner = {.bounds = {bound(keeps, keeps)}}});
    std::vector<std::int64_t> values;
    while (const auto value = iterator.next()) values.push_back(*value);
    return values;
  };
  const std::vector<std::int64_t> kept = twice(1);
  EXPECT_EQ(kept, twice(0));
  EXPECT_TRUE(std::equal(kept.begin(), kept.begin() + 500, kept.begin() + 500, kept.end()));
}

/// Turns every cache on, or off.
class OnOrOff final : public TuningPolicy {
 public:
  TuningDecision observe(const TuningObservation& seen) override {
    TuningDecision decision;
    const std::int64_t value = keeps ? 1 : 0;
    for (const KnobState& knob : seen.knobs) {
      if (knob.kind == KnobKind::cache) decision.settings.push_back({knob.id, value});
    }
    return decision;
  }
  std::atomic<bool> keeps = true;
};

TEST(OptionalCache, ForgetsWhatItKeptWhenItIsTurnedOff) {
  std::atomic<int> made = 0;
  const auto dataset = range(100) | map([&](std::int64_t x) {
                         ++made;
                         return x;
                       }) |
                       optional_cache() | repeat();
  const auto policy = std::make_shared<OnOrOff>();
  auto iterator =
      dataset.iterate({.tuner = {.look_every = std::chrono::milliseconds(1), .policy = policy}});
  const auto made_in_a_pass = [&] {
    const int before = made;
    for (int i = 0; i < 100; ++i) EXPECT_TRUE(iterator.next());
    return made - before;
  };
  // Each ends when the tuner's thread has had its turn.
  while (made_in_a_pass() != 0) {
  }
  policy->keeps = false;
  while (made_in_a_pass() != 100) {
  }
  EXPECT_EQ(made_in_a_pass(), 100);
}

TEST(OptionalCache, IsTurnedOnByTheTunerWhereItHelps) {
  const auto slow = [](std::int64_t x) {
    const auto begin = std::chrono::steady_clock::now();
    while (std::chrono::steady_clock::now() - begin < std::chrono::microseconds(50)) {
    }
    return x;
  };
  const auto dataset = range(400) | map(slow) | optional_cache() | repeat();
  auto iterator = dataset.iterate();
  const auto decided = [&] {
    for (const TuningChange& change : iterator.tuning().changes) {
      // A trial on a busy machine may end otherwise, and is repeated.
      if (change.outcome == TuningChange::Outcome::kept &&
          change.knobs.front().kind == KnobKind::cache)
        return change.text();
    }
    return std::string();
  };
  const auto begin = std::chrono::steady_clock::now();
  std::string text;
  while (text.empty() && std::chrono::steady_clock::now() - begin < std::chrono::seconds(60)) {
    for (int i = 0; i < 400; ++i) ASSERT_TRUE(iterator.next());
    text = decided();
  }
  EXPECT_THAT(text, HasSubstr("optional_cache off -> on: the stages before it take"));
  EXPECT_THAT(text, HasSubstr(", kept"));
}

}  // namespace
}  // namespace infeed::test
