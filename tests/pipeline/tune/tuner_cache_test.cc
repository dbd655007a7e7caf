#include <memory>
#include <string>
#include <vector>

#include <infeed/pipeline/tuning_policy.h>

#include "matchers.h"

namespace infeed::test {
namespace {

/// range | map | optional_cache | repeat as a tuner sees it, in passes of a second: 100 ms a
/// window, with no thread and no clock.
class CachedRun {
 public:
  double map_ns = 1e6;
  double consumer_ns = 100e3;
  double read_ns = 100;  ///< cost of a kept element
  std::uint64_t pass_bytes = 10'000'000;
  std::uint64_t memory_bytes = 0;
  std::uint64_t memory_limit_bytes = 100'000'000;
  bool has_room = true;
  std::int64_t keeps = 0;
  std::shared_ptr<TuningPolicy> tuner = make_tuner();

  std::vector<TuningChange> run(double seconds) {
    std::vector<TuningChange> finished;
    for (int i = 0; i < static_cast<int>(10 * seconds); ++i) {
      const TuningDecision decision = tuner->observe(window());
      for (const KnobSetting& setting : decision.settings) {
        if (max_ != 0) keeps = setting.value;
      }
      finished.insert(finished.end(), decision.finished.begin(), decision.finished.end());
      notes.insert(notes.end(), decision.notes.begin(), decision.notes.end());
      if (!decision.profile.empty()) profile = decision.profile;
    }
    return finished;
  }

  std::vector<std::string> notes;
  std::string profile;

 private:
  TuningObservation window() {
    constexpr std::uint64_t kNs = 100'000'000;
    if (windows_++ % 10 == 0) begin_pass();
    const double element_ns = is_read_ ? read_ns : map_ns;
    TuningObservation seen;
    seen.at_ns = kNs * static_cast<std::uint64_t>(windows_);
    seen.window_ns = kNs;
    seen.elements = static_cast<std::uint64_t>(1e8 / (consumer_ns + element_ns));
    const auto spent = [&](double ns) {
      return static_cast<std::uint64_t>(ns * static_cast<double>(seen.elements));
    };
    seen.consumer_wait_ns = spent(element_ns);
    seen.process_cpu_ns = kNs;
    seen.cores = 2;
    seen.memory_bytes = memory_bytes + (is_read_ ? pass_bytes : 0);
    seen.memory_limit_bytes = memory_limit_bytes;
    const std::uint64_t made = is_read_ ? 0 : seen.elements;
    const bool is_known = windows_ > 10;
    seen.stages = {{"repeat", -1, -1, seen.elements, 0, 0, 0},
                   {"optional_cache", 0, -1, seen.elements, 0, is_read_ ? spent(read_ns) : 0, 0,
                    is_known ? pass_bytes : 0},
                   {"map", 1, -1, made, 0, is_read_ ? 0 : spent(map_ns), 0},
                   {"range", 2, -1, made, 0, 0, 0}};
    seen.knobs = {{.id = 3, .stage = 1, .kind = KnobKind::cache, .value = keeps, .max = max_}};
    return seen;
  }

  void begin_pass() {
    is_read_ = keeps != 0 && is_full_;
    is_full_ = keeps != 0 && has_room;
    if (keeps == 0 || has_room) return;
    keeps = max_ = 0;
  }

  int windows_ = 0;
  bool is_full_ = false;
  bool is_read_ = false;
  std::int64_t max_ = 1;
};

TEST(TunerCache, IsTurnedOnWhereItBringsMuch) {
  CachedRun run;
  const auto changes = run.run(6);
  ASSERT_EQ(changes.size(), 1u);
  EXPECT_EQ(changes[0].text(),
            "  1.2 s  optional_cache off -> on: the stages before it take 1 ms an element, and to "
            "keep a pass about 10 MB; predicted +900 %, got +1010 %, kept");
  EXPECT_EQ(run.keeps, 1);
  EXPECT_THAT(run.profile, HasSubstr("cache 1 optional_cache"));
}

TEST(TunerCache, StaysOffWhereTheConsumerIsTheSlowerOne) {
  CachedRun run;
  run.map_ns = 10e3;
  EXPECT_THAT(run.run(10), IsEmpty());
  EXPECT_EQ(run.keeps, 0);
}

TEST(TunerCache, LeavesAQuarterOfTheMemory) {
  CachedRun run;
  run.memory_bytes = 70'000'000;
  EXPECT_THAT(run.run(10), IsEmpty());
  EXPECT_EQ(run.keeps, 0);
}

TEST(TunerCache, IsTurnedOffAgainWhereItBroughtNothing) {
  CachedRun run;
  run.read_ns = 1e6;  // as long as making the elements takes
  const auto changes = run.run(10);
  ASSERT_EQ(changes.size(), 1u) << "it goes on trying";
  EXPECT_EQ(changes[0].outcome, TuningChange::Outcome::rolled_back);
  EXPECT_EQ(run.keeps, 0);
}

TEST(TunerCache, IsNotAskedForAgainWhereItHadNoRoom) {
  CachedRun run;
  run.has_room = false;
  const auto changes = run.run(10);
  ASSERT_EQ(changes.size(), 1u);
  EXPECT_EQ(changes[0].outcome, TuningChange::Outcome::rolled_back);
  EXPECT_THAT(run.notes, Contains("there was no room for what optional_cache was to keep"));
}

TEST(TunerCache, IsGivenUpWhenMemoryBecomesShort) {
  CachedRun run;
  run.run(6);
  ASSERT_EQ(run.keeps, 1);
  run.memory_bytes = 85'000'000;
  run.run(1);
  EXPECT_EQ(run.keeps, 0);
  EXPECT_THAT(run.notes,
              Contains("memory is short: optional_cache keeps nothing from the next pass on"));
}

TEST(TunerCache, IsOnlyAdvisedToWhoWantsAdvice) {
  CachedRun run;
  run.tuner = make_tuner({}, /*only_advises=*/true);
  const auto changes = run.run(10);
  ASSERT_EQ(changes.size(), 1u);
  EXPECT_EQ(changes[0].outcome, TuningChange::Outcome::advised);
  EXPECT_EQ(run.keeps, 0);
}

TEST(TunerCache, BeginsWithWhatAProfileSays) {
  CachedRun first;
  first.run(6);
  CachedRun next;
  next.tuner = make_tuner(first.profile);
  next.run(0.1);
  EXPECT_EQ(next.keeps, 1);
}

}  // namespace
}  // namespace infeed::test
