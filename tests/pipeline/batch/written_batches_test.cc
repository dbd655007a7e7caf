#include <infeed/error.h>

#include "batch/fill/batches_in_fill.h"
#include "pipeline/batch/batches_alone.h"
#include "thrown_error.h"

// Batches whose rows are written: made, dropped, refused and handed over.
namespace infeed::test {
namespace {

TEST(WrittenBatches, AFullBatchIsMadeAndHandedOver) {
  BatchesAlone alone;
  alone.place(5);
  EXPECT_FALSE(alone.batches->front_is_ready());
  EXPECT_EQ(alone.batches->ready(), 0U);
  alone.write_piece();
  EXPECT_EQ(alone.batches->ready(), 1U);
  EXPECT_TRUE(alone.batches->front_is_ready());
  EXPECT_EQ(alone.counters.buffered.elements, 1U);
  EXPECT_EQ(alone.handed_over(), "4 rows, 0 gaps");
  EXPECT_EQ(alone.held, sizeof(MadeRows));
  EXPECT_EQ(alone.counters.buffered.elements, 0U);
  EXPECT_EQ(alone.batches->elements_given(), 4U);
  EXPECT_FALSE(alone.batches->front_is_ready());
  EXPECT_EQ(alone.batches->last().number, 1U);
  alone.write_piece();
  EXPECT_FALSE(alone.batches->front_is_ready()) << "it isn't full";
  alone.finish(alone.batches->last(), true);
  EXPECT_EQ(alone.handed_over(), "1 rows, 0 gaps");
  EXPECT_EQ(alone.batches->elements_given(), 5U);
  EXPECT_TRUE(alone.batches->are_empty());
  EXPECT_EQ(alone.log.dropped, 0);
}

TEST(WrittenBatches, AnUnwantedRestIsDroppedWithItsErrors) {
  BatchesAlone alone;
  alone.place(3);
  alone.write_piece({1}, true, false);
  EXPECT_TRUE(alone.batches->front_is_ready());
  EXPECT_EQ(alone.log.dropped, 1);
  EXPECT_EQ(alone.handed_over(), "nothing");
  EXPECT_TRUE(alone.batches->are_empty());
}

TEST(WrittenBatches, AFullLastBatchIsNoRest) {
  BatchesAlone alone;
  alone.place(4);
  alone.write_piece({}, true, false);
  EXPECT_EQ(alone.handed_over(), "4 rows, 0 gaps");
}

TEST(WrittenBatches, FailedRowsGoInTheirOrderAndAnErrorComesFirst) {
  BatchesAlone alone;
  for (const int rows : {1, 1, 2}) alone.place(rows);
  const auto first = alone.batches->take_piece();
  const auto second = alone.batches->take_piece();
  const auto third = alone.batches->take_piece();
  alone.note(*third, {3});
  alone.note(*first, {0});
  alone.note(*second, {1});
  EXPECT_THAT(first->batch->failed, ElementsAre(0U, 1U, 3U));
  alone.finish(*first->batch);
  EXPECT_EQ(alone.handed_over(), "3 of 4 rows of a batch failed, the first with: row 0");
  EXPECT_EQ(alone.batches->elements_given(), 0U);
  EXPECT_EQ(alone.handed_over(), "4 rows, 3 gaps");
  EXPECT_TRUE(alone.batches->are_empty());
}

TEST(WrittenBatches, AppendedRowsHaveNoGaps) {
  BatchesAlone alone(false);
  alone.place(4);
  alone.write_piece({0, 2, 3});
  EXPECT_EQ(alone.handed_over(), "3 of 4 rows of a batch failed, the first with: row 0");
  EXPECT_EQ(alone.handed_over(), "1 rows, 0 gaps");
}

TEST(WrittenBatches, ABatchWithoutARowIsItsErrorAlone) {
  BatchesAlone alone;
  alone.place(4);
  alone.write_piece({0, 1, 2, 3});
  EXPECT_EQ(alone.log.dropped, 1);
  EXPECT_EQ(alone.handed_over(), "4 of 4 rows of a batch failed, the first with: row 0");
  EXPECT_TRUE(alone.batches->are_empty());
}

TEST(WrittenBatches, ErrorsOfTheInputComeBeforeTheirBatch) {
  BatchesAlone alone;
  alone.place(4);
  alone.add_error("first");
  alone.add_error("second");
  EXPECT_FALSE(alone.batches->front_has_error());
  alone.write_piece();
  EXPECT_EQ(alone.handed_over(), "4 rows, 0 gaps");
  EXPECT_TRUE(alone.batches->front_has_error());
  EXPECT_TRUE(alone.batches->front_is_ready());
  EXPECT_EQ(alone.handed_over(), "first");
  EXPECT_FALSE(alone.says_wake);
  EXPECT_EQ(alone.batches->elements_given(), 5U);
  EXPECT_EQ(alone.handed_over(), "second");
  EXPECT_EQ(alone.batches->elements_given(), 6U);
  EXPECT_FALSE(alone.batches->front_is_ready());
  alone.finish(alone.batches->last(), true, false);
  EXPECT_EQ(alone.handed_over(), "nothing");
  EXPECT_EQ(alone.batches->elements_given(), 6U);
}

TEST(WrittenBatches, WakesAtHalfOfTheRowsThatMayBeAhead) {
  BatchesAlone alone;
  EXPECT_TRUE(alone.batches->want_rows(1));
  EXPECT_FALSE(alone.batches->want_rows(0));
  for (int i = 0; i < 3; ++i) alone.place(4);
  EXPECT_FALSE(alone.batches->want_rows(12));
  EXPECT_TRUE(alone.batches->want_rows(13));
  for (int i = 0; i < 3; ++i) alone.write_piece();
  EXPECT_EQ(alone.handed_over(14), "4 rows, 0 gaps");
  EXPECT_FALSE(alone.says_wake) << "8 rows of 14 are ahead";
  EXPECT_FALSE(alone.batches->want_rows(8));
  EXPECT_TRUE(alone.batches->want_rows(9));
  EXPECT_EQ(alone.handed_over(8), "4 rows, 0 gaps");
  EXPECT_TRUE(alone.says_wake) << "4 of 8 are";
}

TEST(WrittenBatches, ErrorsOfTheInputAreAheadAsRowsAre) {
  BatchesAlone alone;
  alone.place(2);
  alone.add_error("first");
  alone.add_error("second");
  EXPECT_FALSE(alone.batches->want_rows(4));
  EXPECT_TRUE(alone.batches->want_rows(5));
  EXPECT_EQ(alone.handed_over(6), "first");
  EXPECT_TRUE(alone.says_wake) << "3 of 6 are ahead";
  EXPECT_FALSE(alone.batches->want_rows(3));
  EXPECT_TRUE(alone.batches->want_rows(4));
  EXPECT_EQ(alone.handed_over(100), "second");
  EXPECT_TRUE(alone.says_wake) << "there may have been no room beside the errors";
  EXPECT_EQ(alone.batches->placed().errors_given, 2U);
}

TEST(WrittenBatches, ErrorsOfTheInputCountUntilTheyAreTaken) {
  BatchesAlone alone;
  const MemoryAccount& memory = alone.run.memory();
  detail::HeldBytes held;
  held.set(alone.run.memory(), 10'000);
  alone.batches->add_error(BatchesAlone::error("first"), held);
  EXPECT_EQ(memory.in_use_bytes(), 10'000U);
  held.release();
  EXPECT_GE(memory.in_use_bytes(), sizeof(Error));
  EXPECT_EQ(alone.handed_over(), "first");
  EXPECT_EQ(memory.in_use_bytes(), 0U);
}

TEST(WrittenBatches, StopsWhereThereIsNoMemory) {
  BatchesAlone alone(true, 400);
  alone.spec.batch_bytes_min = 100;
  alone.batches.emplace(alone.run, alone.counters, alone.spec, alone.origins);
  const auto rows = BatchesAlone::stretch(9);
  EXPECT_FALSE(alone.batches->place(rows, false));
  EXPECT_EQ(rows->placed, 8U);
  EXPECT_EQ(alone.batches->pieces(), 2U);
  EXPECT_EQ(alone.log.begun, 2);
  EXPECT_TRUE(alone.batches->memory().is_short());
  alone.write_piece();
  EXPECT_EQ(alone.handed_over(2), "4 rows, 0 gaps");
  EXPECT_TRUE(alone.says_wake) << "somebody waits for its memory";
  EXPECT_TRUE(alone.batches->place(rows, false));
  EXPECT_FALSE(alone.batches->memory().is_short());
  EXPECT_EQ(piece_seen(alone.batches->take_piece()), piece_at(1, 0, 4, 4, 4));
  EXPECT_EQ(piece_seen(alone.batches->take_piece()), piece_at(2, 0, 8, 1, 8));
}

TEST(WrittenBatches, ReadsNoMoreRowsOnceBatchesAreTooLarge) {
  BatchesAlone alone(false, 1000);
  alone.log.bytes = {.all = 250, .spare = 0};
  for (int i = 0; i < 2; ++i) alone.place(4);
  alone.place(1);  // takes all that is left
  EXPECT_TRUE(alone.batches->memory().is_over());
  EXPECT_FALSE(alone.batches->want_rows(100)) << "the front is full, and batches are too large";
  alone.write_piece();
  EXPECT_FALSE(alone.batches->want_rows(100));
  EXPECT_EQ(alone.handed_over(2), "4 rows, 0 gaps");
  EXPECT_TRUE(alone.says_wake);
}

/// Otherwise batches grow beyond the room side by side.
TEST(WrittenBatches, BeyondTheRoomOnlyTheNextBatchGrows) {
  BatchesAlone alone(false, 1000);
  alone.log.bytes = {.all = 250, .spare = 0};
  for (int i = 0; i < 3; ++i) alone.place(2);
  alone.place(6);
  ASSERT_TRUE(alone.batches->memory().is_over());
  const auto first = alone.batches->take_piece();
  EXPECT_EQ(piece_seen(first), piece_at(0, 0, 0, 2, 0));
  EXPECT_FALSE(alone.batches->can_take_piece());
  alone.note(*first);
  const auto second = alone.batches->take_piece();
  EXPECT_EQ(piece_seen(second), piece_at(0, 2, 0, 2, 2));
  alone.note(*second);
  alone.finish(*second->batch);
  EXPECT_EQ(piece_seen(alone.batches->take_piece()), piece_at(1, 0, 0, 2, 4))
      << "batch 0 is made, so this one is next";
}

TEST(WrittenBatches, ARefusedBatchIsWrittenOnAndEndsTheStream) {
  BatchesAlone alone(false, 1000);
  alone.place(2);
  alone.place(2);
  const auto first = alone.batches->take_piece();
  alone.log.bytes = {.all = 800, .spare = 0};
  alone.note(*first);
  ASSERT_NE(first->batch->refusal, nullptr);
  EXPECT_EQ(first->batch->appended, 0U);
  EXPECT_THAT(alone.log.truncated, ElementsAre(0U));
  alone.log.bytes = {.all = 8, .spare = 0};
  alone.write_piece();
  EXPECT_THAT(alone.log.truncated, ElementsAre(0U, 0U)) << "it stays refused";
  EXPECT_EQ(alone.log.dropped, 1);
  EXPECT_TRUE(alone.batches->front_is_ready());
  EXPECT_EQ(error_of([&] { alone.handed_over(); }).code(), ErrorCode::resource_exhausted);
}

TEST(WrittenBatches, ARefusedRestThatNobodyWantsIsForgotten) {
  BatchesAlone alone(false, 1000);
  alone.place(2);
  alone.log.bytes = {.all = 800, .spare = 0};
  alone.write_piece({}, true, false);
  EXPECT_EQ(alone.handed_over(), "nothing");
}

}  // namespace
}  // namespace infeed::test
