#include "batch/fill/batches_in_fill.h"

#include "matchers.h"
#include "pipeline/batch/batches_alone.h"

// The places that rows get in batches, the pieces that are to be written, and what damage leaves.
namespace infeed::test {
namespace {

using detail::BatchInFill;
using detail::OwnStretches;

TEST(BatchesInFill, RowsGetTheNextPlaces) {
  BatchesAlone alone;
  EXPECT_TRUE(alone.batches->are_empty());
  alone.place(6);
  EXPECT_EQ(alone.batches->placed().rows, 6U);
  alone.add_error("between");
  alone.place(3);
  EXPECT_EQ(alone.batches->placed().rows, 9U);
  EXPECT_EQ(alone.batches->pieces(), 4U);
  EXPECT_EQ(alone.log.begun, 3);
  EXPECT_EQ(alone.batches->last().number, 2U);
  EXPECT_EQ(piece_seen(alone.batches->take_piece()), piece_at(0, 0, 0, 4, 0));
  EXPECT_EQ(piece_seen(alone.batches->take_piece()), piece_at(1, 0, 4, 2, 4));
  EXPECT_EQ(piece_seen(alone.batches->take_piece()), piece_at(1, 2, 0, 2, 7))
      << "errors have positions";
  EXPECT_EQ(piece_seen(alone.batches->take_piece()), piece_at(2, 0, 2, 1, 9));
  EXPECT_FALSE(alone.batches->can_take_piece());
  EXPECT_FALSE(alone.batches->take_piece());
}

TEST(BatchesInFill, AThreadMayAskForItsOwnRowsAlone) {
  BatchesAlone alone;
  OwnStretches own;
  alone.place(4);
  EXPECT_FALSE(alone.batches->take_piece(&own));
  own.keep(alone.place(2));
  EXPECT_EQ(piece_seen(alone.batches->take_piece(&own)), piece_at(1, 0, 0, 2, 4));
  EXPECT_FALSE(alone.batches->take_piece(&own));
  EXPECT_TRUE(alone.batches->can_take_piece());
}

TEST(BatchesInFill, AppendedRowsAreWrittenOneAfterTheOther) {
  BatchesAlone alone(false);
  alone.place(2);
  alone.place(1);
  alone.place(2);
  const auto first = alone.batches->take_piece();
  EXPECT_EQ(piece_seen(first), piece_at(0, 0, 0, 2, 0));
  EXPECT_TRUE(first->batch->is_busy);
  // The next ones of batch 0 wait; the one of batch 1 doesn't.
  const auto other = alone.batches->take_piece();
  EXPECT_EQ(piece_seen(other), piece_at(1, 0, 1, 1, 4));
  EXPECT_FALSE(alone.batches->can_take_piece());
  alone.note(*first, {1});
  EXPECT_FALSE(first->batch->is_busy);
  EXPECT_EQ(first->batch->done, 2U);
  EXPECT_EQ(first->batch->appended, 1U);
  const auto second = alone.batches->take_piece();
  EXPECT_EQ(piece_seen(second), piece_at(0, 2, 0, 1, 2));
  alone.note(*second);
  EXPECT_EQ(second->batch->done, 3U);
  EXPECT_EQ(second->batch->appended, 2U);
  EXPECT_EQ(piece_seen(alone.batches->take_piece()), piece_at(0, 3, 0, 1, 3));
}

TEST(BatchesInFill, RowsWithPlacesAreWrittenSideBySide) {
  BatchesAlone alone;
  alone.place(2);
  alone.place(2);
  const auto first = alone.batches->take_piece();
  const auto second = alone.batches->take_piece();
  ASSERT_TRUE(first && second);
  alone.note(*second);
  alone.finish(*second->batch);
  EXPECT_FALSE(second->batch->is_made) << "two rows are missing";
  alone.note(*first);
  alone.finish(*first->batch);
  EXPECT_TRUE(first->batch->is_made);
  EXPECT_EQ(first->batch->filling, nullptr);
}

TEST(BatchesInFill, PiecesBehindDamageAreDropped) {
  BatchesAlone alone;
  for (int i = 0; i < 4; ++i) alone.place(2);
  alone.batches->drop_pieces_behind(4);
  EXPECT_EQ(alone.batches->pieces(), 3U) << "the damaged row is in the third one";
  alone.batches->drop_pieces_behind(3);
  EXPECT_EQ(alone.batches->pieces(), 2U);
  alone.batches->drop_pieces_behind(2);
  EXPECT_EQ(alone.batches->pieces(), 2U);
  alone.batches->drop_pieces_behind(0);
  EXPECT_EQ(alone.batches->pieces(), 1U);
}

TEST(BatchesInFill, ForgetsTheRowsBehindDamage) {
  BatchesAlone alone(false);
  for (int i = 0; i < 3; ++i) alone.place(4);
  const auto first = alone.batches->take_piece();
  alone.note(*first, {0, 1, 3});
  alone.batches->drop_pieces_behind(3);
  alone.batches->forget_rows_from(3);
  EXPECT_EQ(alone.batches->placed().rows, 3U);
  EXPECT_EQ(alone.log.dropped, 2);
  BatchInFill& batch = alone.batches->last();
  EXPECT_EQ(batch.number, 0U);
  EXPECT_EQ(batch.placed, 3U);
  EXPECT_EQ(batch.done, 3U);
  EXPECT_EQ(batch.failed.size(), 2U);
  EXPECT_EQ(batch.appended, 1U);
  EXPECT_THAT(alone.log.truncated, ElementsAre(1U));
  alone.place(1);
  EXPECT_EQ(piece_seen(alone.batches->take_piece()), piece_at(0, 3, 0, 1, 3));
}

TEST(BatchesInFill, ForgetsNothingAtTheEndOfWhatHasAPlace) {
  BatchesAlone alone(false);
  alone.place(4);
  alone.write_piece();
  alone.batches->forget_rows_from(4);
  EXPECT_THAT(alone.log.truncated, IsEmpty());
  EXPECT_EQ(alone.log.dropped, 0);
  EXPECT_EQ(alone.handed_over(), "4 rows, 0 gaps");
}

/// A batch that begins at the damage keeps the errors of the input before it.
TEST(BatchesInFill, KeepsTheErrorsBeforeDamage) {
  BatchesAlone alone;
  alone.place(4);
  alone.write_piece();
  alone.add_error("before");
  alone.place(2);
  alone.batches->drop_pieces_behind(3);
  alone.batches->forget_rows_from(4);
  EXPECT_EQ(alone.log.dropped, 1);
  EXPECT_EQ(alone.batches->last().number, 1U);
  EXPECT_EQ(alone.batches->last().placed, 0U);
  EXPECT_EQ(alone.handed_over(), "4 rows, 0 gaps");
  EXPECT_EQ(alone.handed_over(), "before");
}

TEST(BatchesInFill, DropsWhatIsLeftAtItsEnd) {
  BatchesAlone alone(false, 4000);
  alone.log.bytes = {.all = 80, .spare = 0};
  for (int i = 0; i < 3; ++i) alone.place(4);
  alone.write_piece();
  EXPECT_EQ(alone.batches->ready(), 1U);
  alone.batches.reset();
  EXPECT_EQ(alone.log.dropped, 2) << "the first one was made";
  EXPECT_EQ(alone.counters.buffered.elements, 0U);
  EXPECT_EQ(alone.run.memory().in_use_bytes(), 0U);
}

}  // namespace
}  // namespace infeed::test
