#include "batch/fill/row_work.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <numeric>
#include <string>
#include <vector>

#include <infeed/detail/hand_off.h>
#include <infeed/error.h>
#include <infeed/pipeline/stage.h>

#include "engine/threads/clock.h"
#include "matchers.h"
#include "pipeline/batch/batches_alone.h"
#include "records/temporary_files.h"

// The work that fills batches, task by task, in the test's own thread.
namespace infeed::test {
namespace {

using detail::RowWork;
using ::testing::IsSupersetOf;

/// Gives `left` numbers, at most `at_once` in a pull, and then ends or fails.
class FewAtOnce final : public Stage {
 public:
  using Stage::Stage;

  std::vector<std::size_t> asks;
  mutable std::vector<std::uint64_t> traced;  ///< positions
  std::size_t at_once = 3;
  std::size_t left = 1000;
  std::size_t error_at_pull = SIZE_MAX;  ///< the last slot of this pull is an error
  bool fails = false;

 protected:
  Pull do_pull(Chunk& out, std::size_t want) override {
    const bool has_error = asks.size() == error_at_pull;
    asks.push_back(want);
    if (left == 0 && fails) throw Error(ErrorCode::data_loss, "the input is broken");
    if (left == 0) return Pull::end;
    const std::size_t count = std::min({want, left, at_once});
    left -= count;
    for (std::size_t i = has_error ? 1 : 0; i < count; ++i) out.append(std::int64_t{0});
    if (has_error) out.set_error(BatchesAlone::error("an element is broken"));
    return Pull::values;
  }
  TracedPlace do_trace(std::uint64_t position) const override {
    traced.push_back(position);
    return Stage::do_trace(position);
  }
};

/// Batches of 4 rows of elements whose positions begin at 100.
class RowWorkAlone {
 public:
  explicit RowWorkAlone(bool rows_have_places = true, const IterateOptions& options = {})
      : alone(rows_have_places, options) {}

  RowWork& begin(std::size_t threads = 0) {
    told.count = threads;
    work = std::make_unique<RowWork>(
        alone.run, alone.counters, hand_off, alone.spec, input, type_info<std::int64_t>(),
        detail::Place{.position = 100, .epoch = 0, .key = {}, .run = &alone.run}, told,
        alone.origins);
    return *work;
  }
  /// Works until something can be handed over, which it shows; "over" at the end.
  std::string next() {
    auto lock = hand_off.lock();
    while (!work->batches().front_is_ready()) {
      if (work->is_over()) return "over";
      if (!work->claim(task)) return "nothing to do";
      work->run(lock, task);
    }
    Chunk out(type_info<MadeRows>());
    work->batches().hand_over_front(out, 0, work->rows_ahead_max());
    return BatchesAlone::shown(out);
  }

  BatchesAlone alone;
  detail::HandOff hand_off;
  detail::StageCounters input_counters;
  FewAtOnce input{
      {.run = alone.run, .counters = &input_counters, .type = &type_info<std::int64_t>()}};
  int wakes = 0;
  int told_ready = 0;
  detail::RowWorkers told{.wake_one = [this] { ++wakes; }, .tell_ready = [this] { ++told_ready; }};
  std::unique_ptr<RowWork> work;
  RowWork::Task task;
};

TEST(RowWork, AConsumerWithoutThreadsPullsNoMoreThanItsBatchLacks) {
  RowWorkAlone alone;
  RowWork& work = alone.begin();
  EXPECT_EQ(work.element_ticks(), 0U);
  EXPECT_EQ(alone.next(), "4 rows, 0 gaps");
  EXPECT_THAT(alone.input.asks, ElementsAre(4U, 1U));
  EXPECT_THAT(alone.alone.log.written,
              ElementsAre(::testing::Pair(0U, 100U), ::testing::Pair(1U, 101U),
                          ::testing::Pair(2U, 102U), ::testing::Pair(3U, 103U)));
  EXPECT_GT(work.element_ticks(), 0U);
  EXPECT_EQ(alone.next(), "4 rows, 0 gaps");
  EXPECT_THAT(alone.input.asks, ElementsAre(4U, 1U, 4U, 1U));
  EXPECT_FALSE(work.is_done());
  EXPECT_GT(alone.told_ready, 0);
}

TEST(RowWork, AThreadPullsOneElementUntilItKnowsWhatOneTakes) {
  RowWorkAlone alone;
  alone.begin(2);
  EXPECT_EQ(alone.next(), "4 rows, 0 gaps");
  EXPECT_EQ(alone.input.asks[0], 1U);
}

TEST(RowWork, ElementsAreCountedFromThePlaceBehindThoseThatWereSkipped) {
  RowWorkAlone alone;
  alone.begin().note_skipped(7);
  EXPECT_EQ(alone.next(), "4 rows, 0 gaps");
  EXPECT_THAT(alone.alone.log.written.front(), ::testing::Pair(0U, 107U));
}

TEST(RowWork, AnErrorOfTheInputTakesAPositionAndNoRow) {
  RowWorkAlone alone;
  alone.input.error_at_pull = 0;
  alone.begin();
  EXPECT_EQ(alone.next(), "an element is broken");
  EXPECT_EQ(alone.next(), "4 rows, 0 gaps");
  EXPECT_THAT(alone.input.asks, ElementsAre(4U, 2U));
  EXPECT_THAT(alone.alone.log.written,
              ElementsAre(::testing::Pair(0U, 100U), ::testing::Pair(1U, 101U),
                          ::testing::Pair(2U, 103U), ::testing::Pair(3U, 104U)));
}

TEST(RowWork, ReadsNothingBeyondTheRoomWhileAnErrorWaits) {
  RowWorkAlone alone(true, {.memory_bytes_max = 400});
  alone.input.error_at_pull = 0;
  RowWork& work = alone.begin(1);
  {
    auto lock = alone.hand_off.lock();
    ASSERT_TRUE(work.claim(alone.task));
    work.run(lock, alone.task);
    EXPECT_TRUE(work.batches().front_has_error());
    EXPECT_GE(alone.alone.run.memory().in_use_bytes(), sizeof(Error));
    EXPECT_FALSE(work.can_read());
  }
  EXPECT_EQ(alone.next(), "an element is broken");
  EXPECT_LT(alone.alone.run.memory().in_use_bytes(), sizeof(Error));
  EXPECT_TRUE(work.can_read()) << "one stretch is read even if there is no room";
}

/// Otherwise all that is ready would be taken before anything more is read.
TEST(RowWork, LooksForRoomAgainOnceABatchIsTakenThoughAnErrorWaits) {
  RowWorkAlone alone(true, {.memory_bytes_max = 400});
  alone.input.at_once = 1;
  alone.input.error_at_pull = 4;
  RowWork& work = alone.begin(1);
  auto lock = alone.hand_off.lock();
  while (work.claim(alone.task)) work.run(lock, alone.task);
  EXPECT_EQ(work.batches().ready(), 1U);
  EXPECT_EQ(work.batches().placed().errors, 1U);
  EXPECT_FALSE(work.can_read());
  Chunk out(type_info<MadeRows>());
  EXPECT_TRUE(work.hand_over_front(out, 0));
  EXPECT_EQ(BatchesAlone::shown(out), "4 rows, 0 gaps");
  EXPECT_TRUE(work.can_read());
}

/// Rows come as three and one.
TEST(RowWork, KeepsOneErrorOfABatchWhoseRowsFail) {
  static const ErrorPointer kError = BatchesAlone::error("it fails");
  RowWorkAlone alone;
  alone.alone.spec.write = [](const void*, const void*, void*, std::size_t, const detail::Place&,
                              std::size_t) { return kError; };
  RowWork& work = alone.begin();
  {
    auto lock = alone.hand_off.lock();
    while (!work.batches().front_is_ready()) {
      ASSERT_TRUE(work.claim(alone.task));
      work.run(lock, alone.task);
    }
    EXPECT_EQ(kError.use_count(), 2);
  }
  EXPECT_EQ(alone.next(), "4 of 4 rows of a batch failed, the first with: it fails");
}

TEST(RowWork, AFailedRowKeepsItsPlaceOrIsFollowedByTheNext) {
  for (const bool rows_have_places : {true, false}) {
    RowWorkAlone alone(rows_have_places);
    alone.alone.log.fails_at = 101;
    alone.begin();
    EXPECT_EQ(alone.next(), "it fails");
    EXPECT_EQ(alone.next(), rows_have_places ? "4 rows, 1 gaps" : "3 rows, 0 gaps");
    std::vector<std::size_t> rows;
    for (const auto& [row, position] : alone.alone.log.written) rows.push_back(row);
    EXPECT_EQ(rows, rows_have_places ? (std::vector<std::size_t>{0, 1, 2, 3})
                                     : (std::vector<std::size_t>{0, 1, 1, 2}));
  }
}

TEST(RowWork, EndsWithAShortBatch) {
  RowWorkAlone alone;
  alone.input.left = 6;
  const RowWork& work = alone.begin();
  EXPECT_EQ(alone.next(), "4 rows, 0 gaps");
  EXPECT_EQ(alone.next(), "2 rows, 0 gaps");
  EXPECT_TRUE(work.is_done());
  EXPECT_EQ(alone.next(), "over");
  EXPECT_EQ(work.failure(), nullptr);
}

TEST(RowWork, DropsAShortBatchThatNobodyWants) {
  RowWorkAlone alone;
  alone.input.left = 6;
  alone.alone.spec.drop_remainder = true;
  alone.begin();
  EXPECT_EQ(alone.next(), "4 rows, 0 gaps");
  EXPECT_EQ(alone.next(), "nothing");
  EXPECT_EQ(alone.next(), "over");
}

TEST(RowWork, DropsAShortBatchBeforeTheInputsFailure) {
  RowWorkAlone alone;
  alone.input.left = 6;
  alone.input.fails = true;
  const RowWork& work = alone.begin();
  EXPECT_EQ(alone.next(), "4 rows, 0 gaps");
  EXPECT_EQ(alone.next(), "nothing");
  EXPECT_EQ(alone.next(), "over");
  ASSERT_NE(work.failure(), nullptr);
  EXPECT_EQ(work.failure()->message(), "the input is broken");
}

TEST(RowWork, ReadsTwoBatchesAheadForEachThreadAndTheConsumer) {
  RowWorkAlone alone;
  EXPECT_EQ(alone.begin(0).rows_ahead_max(), 8U);
  EXPECT_EQ(alone.begin(3).rows_ahead_max(), 32U);
  constexpr std::uint64_t kLarge = std::uint64_t{4} << 20;
  alone.alone.spec.batch_bytes_min = kLarge - 1;
  EXPECT_EQ(alone.begin(3).rows_ahead_max(), 32U);
  alone.alone.spec.batch_bytes_min = kLarge;
  EXPECT_EQ(alone.begin(3).rows_ahead_max(), 16U) << "large batches keep a thread busy";
}

class RecordedRows : public ::testing::Test {
 protected:
  std::uint64_t calls() const {
    const auto& counts = alone_.alone.counters.calls_by_log2_ns;
    return std::accumulate(counts.begin(), counts.end(), std::uint64_t{0});
  }

  const TemporaryFolder folder_;
  RowWorkAlone alone_{true, IterateOptions{.recording = {.file = folder_.file("run.profile")}}};
};

/// Quick rows are timed some dozens at once.
TEST_F(RecordedRows, AreCountedOneByOne) {
  alone_.input.at_once = 100;
  alone_.alone.spec.size = 100;
  alone_.begin();
  EXPECT_EQ(alone_.next(), "100 rows, 0 gaps");
  EXPECT_EQ(calls(), 100U);
}

TEST_F(RecordedRows, ThatAreSlowAreTracedOneByOne) {
  alone_.alone.log.row_ticks = detail::ticks_of_us(2000);
  alone_.begin();
  EXPECT_EQ(alone_.next(), "4 rows, 0 gaps");
  EXPECT_EQ(calls(), 4U);
  // A pull that was slow is traced, too: its first element and its last one.
  EXPECT_THAT(alone_.input.traced, IsSupersetOf({0U, 1U, 2U, 3U}));
}

}  // namespace
}  // namespace infeed::test
