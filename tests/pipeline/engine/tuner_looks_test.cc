#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <future>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <infeed/pipeline/tuning_policy.h>

#include "engine/iterator_context.h"
#include "engine/tuning/knobs.h"
#include "engine/tuning/tuner_thread.h"
#include "matchers.h"
#include "pipeline/suite/busy.h"

// The log of a tuner's decisions. The policy is the test's.
namespace infeed::test {
namespace {

using detail::Knob;
using detail::StageCounters;

/// Gives decisions one after the other, to a consumer that takes an element between two of them.
class ScriptedPolicy final : public TuningPolicy {
 public:
  explicit ScriptedPolicy(std::vector<TuningDecision> decisions)
      : decisions_(std::move(decisions)) {}
  TuningDecision observe(const TuningObservation&) override {
    const std::size_t number = taken++;
    if (number == decisions_.size()) over_.set_value();
    return number < decisions_.size() ? decisions_[number] : TuningDecision();
  }
  /// Wakes a tuner that rests: a machine that stands still for a second looks like a consumer that is
  /// away.
  void wait_until_over(detail::TunerThread& tuner) {
    const std::future<void> over = over_.get_future();
    while (over.wait_for(std::chrono::milliseconds(10)) != std::future_status::ready) {
      if (tuner.rests()) tuner.wake();
    }
  }

  /// Returns false if the tuner rests before that.
  bool is_over_before_it_rests(const detail::TunerThread& tuner) {
    const std::future<void> over = over_.get_future();
    while (over.wait_for(std::chrono::milliseconds(10)) != std::future_status::ready) {
      if (tuner.rests()) return false;
    }
    return true;
  }

  std::atomic<std::uint64_t> taken = 0;

 private:
  const std::vector<TuningDecision> decisions_;
  std::promise<void> over_;
};

TuningReport report_of(std::vector<TuningDecision> decisions) {
  const auto policy = std::make_shared<ScriptedPolicy>(std::move(decisions));
  IteratorContext run(IterateOptions{});
  detail::TunerThread tuner(run, {.look_every = std::chrono::milliseconds(1), .policy = policy},
                            policy->taken);
  policy->wait_until_over(tuner);
  tuner.stop();
  return tuner.report();
}

TEST(TunerThread, KeepsALogOfWhatWasDecided) {
  using Outcome = TuningChange::Outcome;
  const auto change = [](std::string why, Outcome outcome) {
    return TuningChange{.why = std::move(why), .outcome = outcome};
  };
  const TuningReport report =
      report_of({{.begun = change("first", Outcome::pending),
                  .notes = {"a note"},
                  .verdict = "it is fast",
                  .profile = "a profile"},
                 {.finished = {change("first, done", Outcome::kept)}},
                 {.finished = {change("second", Outcome::rolled_back)}},
                 {.begun = change("third", Outcome::pending), .notes = {"another"}}});
  ASSERT_EQ(report.changes.size(), 3U);
  EXPECT_EQ(report.changes[0].why, "first, done") << "what was pending has its outcome";
  EXPECT_EQ(report.changes[1].why, "second");
  EXPECT_EQ(report.changes[2].why, "third");
  EXPECT_EQ(report.changes_dropped, 0U);
  EXPECT_THAT(report.notes, ElementsAre("a note", "another"));
  EXPECT_EQ(report.verdict, "it is fast");
  EXPECT_EQ(report.profile, "a profile");
}

/// Expects the last of 300 changes and of more notes.
void expect_last_of_300(const TuningReport& report, const std::string& first_note,
                        const std::string& last_note) {
  ASSERT_EQ(report.changes.size(), 256U);
  EXPECT_EQ(report.changes.front().why, "44");
  EXPECT_EQ(report.changes.back().why, "299");
  EXPECT_EQ(report.changes_dropped, 44U);
  ASSERT_EQ(report.notes.size(), 64U);
  EXPECT_EQ(report.notes.front(), first_note);
  EXPECT_EQ(report.notes.back(), last_note);
}

TEST(TunerThread, KeepsTheLastOfALongLog) {
  std::vector<TuningDecision> decisions;
  for (int i = 0; i < 300; ++i) {
    decisions.push_back({.begun = TuningChange{.why = std::to_string(i)},
                         .notes = {std::to_string(i)},
                         .verdict = std::to_string(i)});
  }
  const TuningReport report = report_of(std::move(decisions));
  expect_last_of_300(report, "236", "299");
  EXPECT_EQ(report.verdict, "299");
}

/// A decision may end several changes, and say several things.
TEST(TunerThread, KeepsTheLastOfALongLogHoweverMuchADecisionAdds) {
  const auto kept = [](int i) {
    return TuningChange{.why = std::to_string(i), .outcome = TuningChange::Outcome::kept};
  };
  std::vector<TuningDecision> decisions;
  for (int i = 0; i < 150; ++i) {
    const std::string note = std::to_string(i);
    decisions.push_back({.finished = {kept(2 * i), kept(2 * i + 1)},
                         .notes = {note + " a", note + " b", note + " c"}});
  }
  const TuningReport report = report_of(std::move(decisions));
  expect_last_of_300(report, "128 c", "149 c");
}

TEST(TunerThread, LooksAtOneInFourTimesWhileNothingIsToBeDone) {
  const auto begin = std::chrono::steady_clock::now();
  report_of(std::vector<TuningDecision>(11, TuningDecision{.is_settled = true}));
  EXPECT_GE(std::chrono::steady_clock::now() - begin, std::chrono::milliseconds(11 * 4));
}

TEST(TunerThread, LooksNoMoreOnceItIsFrozen) {
  const auto policy = std::make_shared<ScriptedPolicy>(std::vector<TuningDecision>(5));
  IteratorContext run(IterateOptions{});
  detail::TunerThread tuner(run, {.look_every = std::chrono::milliseconds(1), .policy = policy},
                            policy->taken);
  policy->wait_until_over(tuner);
  tuner.freeze();
  tuner.wake();  // ends the look under way
  const std::uint64_t looks = policy->taken;
  be_busy_for(std::chrono::milliseconds(5));
  EXPECT_EQ(policy->taken, looks);
}

/// Memory comes back to the system once the queues have shrunk, though the consumer is away.
TEST(TunerThread, RestsOnlyWhenBuffersHaveShrunkAsDecided) {
  const std::atomic<std::uint64_t> taken_by_consumer = 0;
  std::vector<TuningDecision> decisions(15);
  decisions.front().ready_bytes_max = 1000;
  const auto policy = std::make_shared<ScriptedPolicy>(std::move(decisions));
  IteratorContext run(IterateOptions{});
  run.memory().hold_best_effort(1500);
  const detail::TunerThread tuner(
      run, {.look_every = std::chrono::milliseconds(100), .policy = policy}, taken_by_consumer);
  EXPECT_TRUE(policy->is_over_before_it_rests(tuner));
  run.memory().release_best_effort(500);
  while (!tuner.rests()) be_busy_for(std::chrono::milliseconds(10));
}

TEST(TunerThread, SetsWhatWasDecidedUnlessItOnlyAdvises) {
  for (const TunerMode mode : {TunerMode::on, TunerMode::advice_only}) {
    const bool sets = mode == TunerMode::on;
    IteratorContext run(IterateOptions{});
    StageCounters map;
    const Knob knob(run.knobs(), map, {.kind = KnobKind::workers, .value = 1, .max = 9},
                    [](std::int64_t) {});
    const auto policy = std::make_shared<ScriptedPolicy>(std::vector<TuningDecision>{
        {.settings = {{.id = 0, .value = 5}}, .ready_bytes_max = 1234}});
    // The first look is made at once.
    const detail::TunerThread tuner(
        run, {.mode = mode, .look_every = std::chrono::hours(1), .policy = policy}, policy->taken);
    EXPECT_EQ(knob.value(), sets ? 5 : 1);
    EXPECT_EQ(run.memory().best_effort_limit_bytes(), sets ? 1234 : UINT64_MAX);
    EXPECT_FALSE(tuner.rests());
  }
}

/// Threads that had found no room went on only when the consumer took the next element.
TEST(TunerThread, WakesThoseThatFoundNoRoomWhenTheBoundChanges) {
  IteratorContext run(IterateOptions{});
  std::vector<std::uint64_t> limits;
  const detail::RoomWaker waker(run.room_wakers(),
                                [&] { limits.push_back(run.memory().best_effort_limit_bytes()); });
  const auto policy =
      std::make_shared<ScriptedPolicy>(std::vector<TuningDecision>{{.ready_bytes_max = 1234}});
  // The first look is made at once.
  const detail::TunerThread tuner(run, {.look_every = std::chrono::hours(1), .policy = policy},
                                  policy->taken);
  EXPECT_THAT(limits, ElementsAre(1234));
}

}  // namespace
}  // namespace infeed::test
