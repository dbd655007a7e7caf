#include "batch/fill/fill_memory.h"

#include <cstddef>
#include <cstdint>
#include <gtest/gtest.h>
#include <string>
#include <vector>

#include <infeed/error.h>

#include "batch/fill/batch_in_fill.h"
#include "engine/iterator_context.h"
#include "engine/stage_counters.h"

// The bytes of a memory account that batches in the making take, one by one.
namespace infeed::test {
namespace {

using detail::BatchInFill;
using HeldInts = std::vector<std::int64_t>;

/// The account of a stage whose batches take 100 bytes at least. Of the limit of 1000 bytes, 250
/// are for best effort and 750 for what is required.
struct FilledAlone {
  static constexpr std::uint64_t kLimit = 1000;

  explicit FilledAlone(std::uint64_t limit = kLimit, bool knows_spare_bytes = true)
      : run(IterateOptions{.memory_bytes_max = limit}),
        memory(run, counters, spec_of(knows_spare_bytes)) {}

  static detail::RowFillSpec spec_of(bool knows_spare_bytes) {
    detail::RowFillSpec spec;
    spec.name = "fill";
    spec.batch_bytes_min = 100;
    if (knows_spare_bytes) {
      spec.filling_bytes = [](const void*) { return detail::FillingBytes{0, 0}; };
    }
    return spec;
  }
  std::uint64_t in_use() { return run.memory().in_use_bytes(); }
  std::uint64_t best_effort() { return run.memory().best_effort_bytes(); }
  /// Makes a batch of that many bytes of one element.
  void make(BatchInFill& batch, std::size_t bytes) {
    batch.made.clear();
    batch.made.append(HeldInts((bytes - sizeof(HeldInts)) / sizeof(std::int64_t)));
    EXPECT_EQ(batch.made.bytes(), bytes);
    memory.note_made(batch);
  }

  IteratorContext run;
  detail::StageCounters counters;
  detail::FillMemory memory;
};

/// A batch, whose memory goes before the account.
struct BatchAlone : BatchInFill {
  BatchAlone() : BatchInFill(type_info<HeldInts>(), false) {}
};

TEST(FillMemory, TheFirstBatchIsBegunInWhatTheStageTook) {
  FilledAlone filled;
  EXPECT_EQ(filled.in_use(), 100U);
  EXPECT_EQ(filled.memory.batch_bytes(), 100U);
  BatchAlone first;
  BatchAlone second;
  BatchAlone third;
  BatchAlone fourth;
  EXPECT_TRUE(filled.memory.try_begin(first, true));
  EXPECT_TRUE(first.is_required);
  EXPECT_EQ(filled.in_use(), 100U);
  EXPECT_TRUE(filled.memory.try_begin(second, false));
  EXPECT_FALSE(second.is_required);
  EXPECT_EQ(second.held.bytes(), 100U);
  EXPECT_TRUE(filled.memory.try_begin(third, true));
  EXPECT_EQ(filled.in_use(), 300U);
  EXPECT_FALSE(filled.memory.is_short());
  EXPECT_FALSE(filled.memory.try_begin(fourth, false));
  EXPECT_TRUE(filled.memory.is_short());
  EXPECT_EQ(fourth.held.bytes(), 0U);
  filled.memory.look_again();
  EXPECT_FALSE(filled.memory.is_short());
  EXPECT_FALSE(filled.memory.try_begin(fourth, false));
  filled.memory.release(second);
  EXPECT_EQ(filled.in_use(), 200U);
  EXPECT_TRUE(filled.memory.is_short());
  EXPECT_TRUE(filled.memory.try_begin(fourth, false));
  EXPECT_FALSE(filled.memory.is_short());
  filled.memory.release(first);
  EXPECT_FALSE(first.is_required);
  EXPECT_EQ(filled.in_use(), 300U);
  EXPECT_TRUE(filled.memory.try_begin(second, false));
  EXPECT_TRUE(second.is_required);
  EXPECT_EQ(second.held.bytes(), 0U);
  EXPECT_FALSE(filled.memory.is_over());
}

TEST(FillMemory, BeyondTheLimitTheFirstBatchWaitsForTheConsumer) {
  FilledAlone filled;
  BatchAlone batch;
  filled.run.memory().hold_best_effort(901);
  EXPECT_FALSE(filled.memory.try_begin(batch, true));
  EXPECT_FALSE(batch.is_required);
  EXPECT_TRUE(filled.memory.try_begin(batch, false));
  EXPECT_TRUE(batch.is_required);
  filled.memory.release(batch);
  filled.run.memory().release_best_effort(1);
  EXPECT_EQ(filled.in_use(), FilledAlone::kLimit);
  EXPECT_TRUE(filled.memory.try_begin(batch, true));
  EXPECT_TRUE(batch.is_required);
  filled.memory.release(batch);
  filled.run.memory().release_best_effort(900);
}

TEST(FillMemory, WithoutALimitTheFirstBatchNeverWaits) {
  FilledAlone filled(0);
  BatchAlone batch;
  filled.run.memory().hold_best_effort(5000);
  EXPECT_TRUE(filled.memory.try_begin(batch, true));
  EXPECT_TRUE(batch.is_required);
  filled.memory.release(batch);
}

TEST(FillMemory, TheRequiredBatchGrowsByWhatItsRowsUse) {
  FilledAlone filled;
  BatchAlone batch;
  ASSERT_TRUE(filled.memory.try_begin(batch, false));
  filled.memory.hold(batch, {.all = 300, .spare = 100});
  EXPECT_EQ(batch.used_bytes, 200U);
  EXPECT_EQ(batch.held.bytes(), 100U);
  EXPECT_EQ(filled.best_effort(), 100U);
  EXPECT_EQ(filled.in_use(), 300U);
  filled.memory.hold(batch, {.all = 150, .spare = 0});
  EXPECT_EQ(batch.held.bytes(), 0U);
  EXPECT_EQ(filled.in_use(), 200U) << "required memory stays until the batch goes";
  filled.memory.hold(batch, {.all = 10'000, .spare = 9950});
  EXPECT_EQ(batch.refusal, nullptr) << "what is spare is refused to nobody";
  EXPECT_EQ(filled.in_use(), 10'000U);
  filled.memory.release(batch);
  EXPECT_EQ(batch.used_bytes, 0U);
  EXPECT_EQ(filled.in_use(), 100U);
  EXPECT_EQ(filled.best_effort(), 0U);
}

TEST(FillMemory, RefusesABatchThatNeedsMoreThanTheAccountEverHas) {
  for (const bool is_required : {true, false}) {
    FilledAlone filled;
    BatchAlone first;
    BatchAlone second;
    ASSERT_TRUE(filled.memory.try_begin(first, false));
    ASSERT_TRUE(filled.memory.try_begin(second, false));
    BatchAlone& batch = is_required ? first : second;
    filled.memory.hold(batch, {.all = 750, .spare = 0});
    EXPECT_EQ(batch.refusal, nullptr);
    filled.memory.hold(batch, {.all = 751, .spare = 0});
    ASSERT_NE(batch.refusal, nullptr);
    EXPECT_EQ(batch.refusal->code(), ErrorCode::resource_exhausted);
    EXPECT_EQ(batch.used_bytes, 751U);
    const std::string told = batch.refusal->message();
    EXPECT_TRUE(told.starts_with(is_required ? "fill needs 1 bytes" : "fill needs 651 bytes"))
        << told;
    EXPECT_TRUE(told.find("raise memory_bytes_max from 1000 to at least 1001,") != told.npos)
        << "the batch may use what the stage has: " << told;
    batch.refusal = nullptr;
    filled.run.memory().set_limit(1001);
    filled.memory.hold(batch, {.all = 751, .spare = 0});
    EXPECT_EQ(batch.refusal, nullptr);
    filled.memory.release(first);
    filled.memory.release(second);
    EXPECT_EQ(filled.in_use(), 100U);
  }
}

TEST(FillMemory, OtherBatchesGrowBeyondTheRoomAndAreCounted) {
  FilledAlone filled;
  BatchAlone first;
  BatchAlone second;
  BatchAlone third;
  for (BatchAlone* const batch : {&first, &second, &third}) {
    ASSERT_TRUE(filled.memory.try_begin(*batch, false));
  }
  filled.memory.hold(second, {.all = 150, .spare = 0});
  EXPECT_FALSE(filled.memory.is_over()) << "it fits exactly";
  EXPECT_EQ(filled.best_effort(), 250U);
  filled.memory.hold(second, {.all = 180, .spare = 0});
  EXPECT_TRUE(filled.memory.is_over());
  EXPECT_EQ(second.over_bytes, 30U);
  filled.memory.hold(second, {.all = 200, .spare = 0});
  EXPECT_EQ(second.over_bytes, 50U);
  filled.memory.hold(third, {.all = 110, .spare = 0});
  EXPECT_EQ(third.over_bytes, 10U);
  EXPECT_EQ(filled.best_effort(), 310U);
  filled.memory.release(second);
  EXPECT_EQ(second.over_bytes, 0U);
  EXPECT_TRUE(filled.memory.is_over()) << "the third is";
  filled.memory.release(third);
  EXPECT_FALSE(filled.memory.is_over());
  EXPECT_EQ(filled.in_use(), 100U);
  filled.memory.release(first);
}

TEST(FillMemory, ABatchThatFindsNoRoomTakesTheRequiredMemoryOnceThatIsFree) {
  FilledAlone filled;
  BatchAlone first;
  BatchAlone second;
  ASSERT_TRUE(filled.memory.try_begin(first, false));
  ASSERT_TRUE(filled.memory.try_begin(second, false));
  filled.memory.hold(second, {.all = 260, .spare = 0});
  EXPECT_TRUE(filled.memory.is_over());
  filled.memory.release(first);
  filled.memory.hold(second, {.all = 300, .spare = 0});
  EXPECT_TRUE(second.is_required);
  EXPECT_EQ(second.over_bytes, 0U);
  EXPECT_FALSE(filled.memory.is_over());
  EXPECT_EQ(second.held.bytes(), 0U);
  EXPECT_EQ(filled.in_use(), 300U);
  EXPECT_EQ(filled.run.memory().peak_bytes(), 360U) << "its bytes never count twice";
  BatchAlone third;
  ASSERT_TRUE(filled.memory.try_begin(third, false));
  EXPECT_FALSE(third.is_required);
  filled.memory.release(second);
  filled.memory.release(third);
  EXPECT_EQ(filled.in_use(), 100U);
}

TEST(FillMemory, AMadeBatchKeepsWhatItsRowsUsed) {
  FilledAlone filled;
  BatchAlone batch;
  ASSERT_TRUE(filled.memory.try_begin(batch, false));
  filled.memory.hold(batch, {.all = 300, .spare = 100});
  filled.make(batch, 504);
  EXPECT_EQ(batch.used_bytes, 200U);
  EXPECT_EQ(batch.held.bytes(), 304U);
  filled.make(batch, 120);
  EXPECT_EQ(batch.used_bytes, 120U);
  EXPECT_EQ(batch.held.bytes(), 0U);
  filled.memory.release(batch);
}

TEST(FillMemory, AMadeBatchUsesAllOfItsBytesIfNobodyKnowsThemBefore) {
  FilledAlone filled(FilledAlone::kLimit, false);
  BatchAlone batch;
  ASSERT_TRUE(filled.memory.try_begin(batch, false));
  filled.make(batch, 504);
  EXPECT_EQ(batch.used_bytes, 504U);
  EXPECT_EQ(batch.held.bytes(), 0U);
  EXPECT_EQ(filled.in_use(), 504U);
  filled.memory.release(batch);
}

TEST(FillMemory, CountsTheBatchesThatAreMade) {
  FilledAlone filled;
  BatchAlone first;
  BatchAlone second;
  filled.make(first, 200);
  filled.make(second, 120);
  EXPECT_EQ(filled.counters.buffered.elements, 2U);
  EXPECT_EQ(filled.counters.buffered.bytes, 320U);
  filled.memory.note_gone(first);
  EXPECT_EQ(filled.counters.buffered.elements, 1U);
  EXPECT_EQ(filled.counters.buffered.bytes, 120U);
  filled.memory.note_gone(second);
  EXPECT_EQ(filled.counters.buffered.elements, 0U);
  EXPECT_EQ(filled.counters.buffered.bytes, 0U);
}

/// The expectation sinks by a sixteenth a batch, but not below what each batch takes.
TEST(FillMemory, TheNextBatchIsExpectedToBeAsLargeAsRecentOnes) {
  FilledAlone filled(0);
  BatchAlone batch;
  filled.make(batch, 24);
  EXPECT_EQ(filled.memory.batch_bytes(), 100U);
  filled.make(batch, 1600);
  EXPECT_EQ(filled.memory.batch_bytes(), 1600U);
  filled.make(batch, 24);
  EXPECT_EQ(filled.memory.batch_bytes(), 1500U);
  filled.make(batch, 24);
  EXPECT_EQ(filled.memory.batch_bytes(), 1407U);
  filled.make(batch, 1504);
  EXPECT_EQ(filled.memory.batch_bytes(), 1504U);
  BatchAlone first;
  BatchAlone second;
  ASSERT_TRUE(filled.memory.try_begin(first, false));
  ASSERT_TRUE(filled.memory.try_begin(second, false));
  EXPECT_EQ(second.held.bytes(), 1504U);
  filled.memory.release(first);
  filled.memory.release(second);
  filled.memory.release(batch);
}

}  // namespace
}  // namespace infeed::test
