#include <numeric>

#include <infeed/infeed.h>

#include "pipeline/suite/resumes_anywhere.h"
#include "pipeline/suite/stage_suite.h"
#include "seeded_random.h"
#include "thrown_error.h"

namespace infeed::test {
namespace {

using Ids = std::vector<std::int32_t>;

std::vector<PackedColumn> called(const char* name) { return {{.name = name}}; }

std::vector<ColumnBatch> packed(const std::vector<Ids>& documents, std::int64_t rows,
                                PackOptions options) {
  options.columns = called("tokens");
  return (slices(documents) | pack(rows, options)).collect();
}

TEST(Pack, PutsDocumentsIntoTheFirstRowWithRoom) {
  const auto batches = packed({{1, 2, 3}, {4, 4, 4}, {5}, {6, 6}, {7, 7, 7, 7}}, 2, {.length = 4});
  ASSERT_EQ(batches.size(), 2U);
  EXPECT_THAT(batches[0].names(), ElementsAre("tokens", "tokens_segment_ids", "tokens_positions"));
  const auto column = [&](std::size_t batch, const char* name) {
    return batches[batch].column(name).values<std::int32_t>();
  };
  EXPECT_EQ(batches[0].column("tokens").values().shape(), (Shape{2, 4}));
  EXPECT_THAT(column(0, "tokens"), ElementsAre(1, 2, 3, 5, 4, 4, 4, 0));
  EXPECT_THAT(column(0, "tokens_segment_ids"), ElementsAre(1, 1, 1, 2, 1, 1, 1, 0));
  EXPECT_THAT(column(0, "tokens_positions"), ElementsAre(0, 1, 2, 0, 0, 1, 2, 0));
  EXPECT_THAT(column(1, "tokens"), ElementsAre(6, 6, 0, 0, 7, 7, 7, 7));
}

TEST(Pack, AWindowOfOneRowIsTheLastOne) {
  const auto batches = packed({{1, 1, 1}, {2, 2}, {3}}, 1, {.length = 4, .window = 1});
  ASSERT_EQ(batches.size(), 2U);
  EXPECT_THAT(batches[0].columns()[0].values<std::int32_t>(), ElementsAre(1, 1, 1, 0));
  EXPECT_THAT(batches[1].columns()[0].values<std::int32_t>(), ElementsAre(2, 2, 3, 0));
}

TEST(Pack, WhatIsTooLongIsSplitTruncatedOrAnError) {
  const std::vector<Ids> documents = {{1, 2, 3, 4, 5}, {6}};
  const auto rows = packed(documents, 2, {.length = 3});
  EXPECT_THAT(rows[0].columns()[0].values<std::int32_t>(), ElementsAre(1, 2, 3, 4, 5, 6));
  EXPECT_THAT(rows[0].columns()[2].values<std::int32_t>(), ElementsAre(0, 1, 2, 0, 1, 0));
  const auto cut = packed(documents, 2, {.length = 3, .too_long = PackOptions::TooLong::truncate});
  EXPECT_THAT(cut[0].columns()[0].values<std::int32_t>(), ElementsAre(1, 2, 3, 6, 0, 0));
  auto failing =
      (slices(documents) |
       pack(2, {.length = 3, .too_long = PackOptions::TooLong::fail, .columns = called("tokens")}))
          .iterate();
  EXPECT_THAT(error_of([&] { failing.next(); }).message(),
              HasSubstr("a document has 5 items of 'tokens', but its rows have 3"));
  EXPECT_THAT(failing.next()->columns()[0].values<std::int32_t>(), ElementsAre(6, 0, 0));
}

struct PackedDocument {
  std::vector<std::int64_t> tokens;
  std::vector<float> weights;
};

TEST(Pack, SequencesOfADocumentStayInOneRow) {
  const std::vector<PackedDocument> documents = {{{1, 2}, {0.5F}}, {{3}, {1, 2}}, {{4}, {3}}};
  const std::vector<PackedColumn> columns = {{.name = "tokens", .length = 4, .padding = -1},
                                             {.name = "weights", .length = 2, .padding = 0.25}};
  auto iterator = (slices(documents) | pack(2, {.columns = columns})).iterate();
  const auto batch = *iterator.next();
  EXPECT_THAT(batch.column("tokens").values<std::int64_t>(),
              ElementsAre(1, 2, 4, -1, 3, -1, -1, -1));
  EXPECT_THAT(batch.column("weights").values<float>(), ElementsAre(0.5F, 3.0F, 1.0F, 2.0F));
  EXPECT_THAT(batch.column("weights_segment_ids").values<std::int32_t>(), ElementsAre(1, 2, 1, 1));
  EXPECT_FALSE(iterator.next());
}

TEST(Pack, NamesAreThoseOfTheMembers) {
  if constexpr (kHasMemberNames) {
    const auto batch = *(slices(std::vector<PackedDocument>{{{1}, {2}}}) | pack(1, {.length = 2}))
                            .iterate()
                            .next();
    EXPECT_EQ(batch.names()[3], "weights");
  }
}

ColumnBatch ragged_documents(const std::vector<Ids>& documents) {
  Ids all;
  std::vector<std::int64_t> splits = {0};
  for (const Ids& document : documents) {
    all.insert(all.end(), document.begin(), document.end());
    splits.push_back(static_cast<std::int64_t>(all.size()));
  }
  const auto tensor = []<class U>(const std::vector<U>& values) {
    return Tensor::copy_of({static_cast<std::int64_t>(values.size())}, std::span<const U>(values));
  };
  return ColumnBatch({{"tokens", Column::ragged(tensor(all), {tensor(splits)})}});
}

/// The first one has one column, so others of later batches aren't packed. A resume doesn't see it.
TEST(Pack, AResumeKnowsTheColumnsOfTheFirstBatch) {
  const auto documents = range(12) | map([](std::int64_t x) {
                           const auto number = static_cast<std::int32_t>(x);
                           const Column tokens = ragged_documents({{number, number}}).columns()[0];
                           if (x % 3 == 1)
                             return ColumnBatch({{"another column", tokens}, {"tokens", tokens}});
                           if (x % 3 == 2) return ColumnBatch({{"tokens", tokens}, {"a", tokens}});
                           return ColumnBatch({{"tokens", tokens}});
                         });
  for (const bool are_named : {false, true}) {
    for (const std::int64_t window : {1, 3}) {
      const auto batches =
          documents |
          pack(1, {.length = 2,
                   .window = window,
                   .columns = are_named ? called("tokens") : std::vector<PackedColumn>()}) |
          map([](const ColumnBatch& batch) {
            return 100 * std::ssize(batch.columns()) + batch.columns()[0].values<std::int32_t>()[0];
          });
      const Stream all = stream_of(batches);
      ASSERT_EQ(all.size(), 12U);
      EXPECT_EQ(all[7], "307");
      expect_resumes_anywhere(batches, all, {.bookmark_every = 1});
    }
  }
}

/// Bookmarks of earlier builds have the room of the open rows there. A full one was taken for no
/// column, and the resume gave nothing.
TEST(Pack, ABookmarkWithoutTheColumnsOfBatchesIsRefused) {
  const auto batches = range(9000) | map([](std::int64_t x) {
                         const auto number = static_cast<std::int32_t>(x);
                         return ragged_documents({{number, number}});
                       }) |
                       pack(1, {.length = 2});
  auto iterator = batches.iterate({.bookmark_every = 1});
  for (int i = 0; i < 5000; ++i) ASSERT_TRUE(iterator.next());
  Checkpoint old = iterator.checkpoint();
  ASSERT_EQ(old.bookmarks.size(), 1U);
  std::vector<std::uint64_t>& state = old.bookmarks[0].state;
  ASSERT_GT(state.size(), 7U);
  for (const std::vector<std::uint64_t>& room : {std::vector<std::uint64_t>{0}, {1, 3, 2}, {1}}) {
    state.resize(6);
    state.insert(state.end(), room.begin(), room.end());
    const Error error = error_of([&] {
      auto resumed = batches.iterate({.resume = old});
      resumed.next();
    });
    EXPECT_THAT(error.message(), HasSubstr("bookmark of pack holds numbers that this stage never"));
  }
}

/// Documents of drawn lengths are packed alike, one by one and as rows of batches. Each is there
/// once, whole and in the order of the input.
TEST(Pack, LosesNothing) {
  SeededRandom random;
  for (int round = 0; round < 200; ++round) {
    const auto length = static_cast<std::size_t>(random.between(1, 30));
    std::vector<Ids> documents(random.below(60));
    std::int32_t next = 0;
    for (Ids& document : documents) {
      document.resize(random.below(length + 1));
      std::iota(document.begin(), document.end(), next);
      next += static_cast<std::int32_t>(document.size());
    }
    PackOptions options{.length = static_cast<std::int64_t>(length),
                        .window = random.between(1, 9)};
    const std::int64_t rows = random.between(1, 5);
    const auto batches = packed(documents, rows, options);
    Ids found;
    std::int64_t position = 0;
    for (const ColumnBatch& batch : batches) {
      const auto tokens = batch.column("tokens").values<std::int32_t>();
      const auto ids = batch.column("tokens_segment_ids").values<std::int32_t>();
      const auto positions = batch.column("tokens_positions").values<std::int32_t>();
      for (std::size_t i = 0; i < tokens.size(); ++i) {
        if (ids[i] == 0) continue;
        position = positions[i] == 0 ? 0 : position + 1;
        ASSERT_EQ(positions[i], position);
        ASSERT_TRUE(position == 0 || tokens[i] == tokens[i - 1] + 1);
        found.push_back(tokens[i]);
      }
    }
    std::sort(found.begin(), found.end());
    Ids all(static_cast<std::size_t>(next));
    std::iota(all.begin(), all.end(), 0);
    ASSERT_EQ(found, all);
    const std::vector<ColumnBatch> input = {ragged_documents(documents)};
    ASSERT_EQ((slices(input) | rebatch(random.between(1, 4)) | pack(rows, options)).collect(),
              batches);
  }
}

/// Returns the rows' numbers in order: the result of first fit in a window.
Stream pack_model(const Slots& in, std::size_t rows, std::size_t length, std::size_t window) {
  Stream stream;
  std::vector<Ids> open;  // all rows of the batches that were not handed over
  std::size_t closed = 0;
  const auto hand_over = [&](bool all) {
    while (closed >= rows || (all && !open.empty())) {
      Ids batch;
      const std::size_t count = std::min(rows, open.size());
      for (std::size_t i = 0; i < count; ++i)
        batch.insert(batch.end(), open[i].begin(), open[i].end());
      open.erase(open.begin(), open.begin() + static_cast<std::ptrdiff_t>(count));
      closed -= std::min(closed, rows);
      std::vector<std::int64_t> wide(batch.begin(), batch.end());
      stream.push_back(show(wide));
    }
  };
  for (const Slot& slot : in) {
    if (slot.fails) {
      stream.push_back(show(slot));
      continue;
    }
    const auto count = static_cast<std::size_t>(slot.value % 4);
    if (count == 0) continue;
    std::size_t row = closed;
    while (row < open.size() && open[row].size() + count > length) ++row;
    if (row == open.size()) {
      if (open.size() - closed == window) ++closed;
      open.emplace_back();
    }
    open[row].insert(open[row].end(), count, static_cast<std::int32_t>(slot.value));
    hand_over(false);
  }
  hand_over(true);
  return stream;
}

TEST(Pack, PassesTheSuite) {
  for (const std::int64_t window : {1, 3}) {
    SCOPED_TRACE(window);
    run_stage_suite_on<std::int64_t>(
        [&](auto dataset) {
          return dataset | map([](std::int64_t x) {
                   return Ids(static_cast<std::size_t>(x % 4), static_cast<std::int32_t>(x));
                 }) |
                 pack(2, {.length = 5, .window = window, .columns = called("tokens")}) |
                 map([](const ColumnBatch& batch) {
                   std::vector<std::int64_t> numbers;
                   const auto tokens = batch.column("tokens").values<std::int32_t>();
                   const auto ids = batch.column("tokens_segment_ids").values<std::int32_t>();
                   for (std::size_t i = 0; i < tokens.size(); ++i) {
                     if (ids[i] != 0) numbers.push_back(tokens[i]);
                   }
                   return numbers;
                 });
        },
        [&](const Slots& in) { return pack_model(in, 2, 5, static_cast<std::size_t>(window)); });
  }
}

TEST(Pack, StatisticsSayHowMuchIsFilled) {
  auto iterator =
      (slices(std::vector<Ids>{{1, 2, 3}, {4, 4, 4, 4, 4}}) |
       pack(2,
            {.length = 4, .too_long = PackOptions::TooLong::truncate, .columns = called("tokens")}))
          .iterate();
  while (iterator.next()) {
  }
  EXPECT_EQ(iterator.statistics().stages[0].count("room_items"), 8U);
  EXPECT_EQ(iterator.statistics().stages[0].count("held_items"), 7U);
  EXPECT_THAT(iterator.statistics().table(),
              HasSubstr("packed by pack: 87.5 % of the rows are filled; 1 items were cut off"));
}

TEST(Pack, StatisticsAddUpPasses) {
  auto iterator = (slices(std::vector<Ids>{{1, 2, 3}}) |
                   pack(1, {.length = 4, .columns = called("tokens")}) | repeat(3))
                      .iterate();
  while (iterator.next()) {
  }
  const StageStatistics packed = iterator.statistics().stages[1];
  EXPECT_EQ(packed.count("room_items"), 12U);
  EXPECT_EQ(packed.count("held_items"), 9U);
  EXPECT_EQ(packed.count("dropped_records"), 0U) << "it doesn't count such";
}

/// A remainder that was dropped, and batches of an iteration that was cancelled, were said to be
/// held for ever.
TEST(Pack, StatisticsSayThatNothingIsHeldAfterTheEnd) {
  const auto dataset = slices(std::vector<Ids>{{1, 2, 3, 4}, {5}}) |
                       pack(2, {.length = 2, .columns = called("tokens"), .drop_remainder = true});
  auto whole = dataset.iterate();
  while (whole.next()) {
  }
  auto cancelled = dataset.iterate();
  cancelled.next();
  cancelled.cancel();
  EXPECT_EQ(error_of([&] { cancelled.next(); }).code(), ErrorCode::cancelled);
  for (const auto* iterator : {&whole, &cancelled}) {
    const StageStatistics packed = iterator->statistics().stages[0];
    EXPECT_EQ(packed.buffered_elements, 0U);
    EXPECT_EQ(packed.buffered_bytes, 0U);
  }
}

TEST(Pack, RefusesWhatDoesNotFit) {
  const auto message = [](std::int64_t rows, PackOptions options) {
    return error_of([&] { slices(std::vector<Ids>()) | pack(rows, options); }).message();
  };
  EXPECT_EQ(message(0, {.length = 3}), "pack: a batch has 0 rows; give 1 or more");
  EXPECT_EQ(message(1, {.columns = called("x")}),
            "pack: the rows of column 'x' have a length of 0; give 1 or more");
  EXPECT_EQ(message(1, {.length = 3, .window = 0}), "pack: the window is 0 rows; give 1 or more");
  EXPECT_THAT(message(1, {.length = 3, .columns = {{"x"}, {"y"}}}),
              HasSubstr("2 columns are named, but an element has 1 sequences"));
  const auto dense = slices(
      std::vector<ColumnBatch>{ColumnBatch({{"x", Column::dense(Tensor::copy_of({1}, {1.0F}))}})});
  auto iterator = (dense | pack(1, {.length = 3})).iterate();
  EXPECT_THAT(error_of([&] { iterator.next(); }).message(),
              HasSubstr("column 'x' is dense of float32 [], but ragged numbers of float32"));
}

}  // namespace
}  // namespace infeed::test
