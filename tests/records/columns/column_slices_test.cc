#include <algorithm>
#include <array>
#include <latch>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <infeed/records/column_batch.h>
#include <infeed/records/detail/rows_to_join.h>

#include "records/columns/drawn_columns.h"
#include "seeded_random.h"
#include "thrown_error.h"

/// Slices of batches, whose columns are cut only when somebody asks for them.
namespace infeed::test {
namespace {

/// A range of rows, drawn.
struct Range {
  std::int64_t first;
  std::int64_t rows;
};

Range draw_range(SeededRandom& random, std::int64_t rows) {
  const std::int64_t first = random.between(0, rows);
  return {first, random.between(0, rows - first)};
}

std::vector<Column> draw_columns(SeededRandom& random, std::int64_t rows) {
  std::vector<Column> columns;
  columns.reserve(4);
  for (std::int64_t i = random.between(1, 4); i > 0; --i)
    columns.push_back(draw_column(random, rows));
  return columns;
}

std::shared_ptr<const detail::ColumnNames> names_for(const std::vector<Column>& columns) {
  std::vector<std::string> names;
  for (std::size_t i = 0; i < columns.size(); ++i) names.push_back(std::to_string(i));
  return detail::column_names(std::move(names));
}

/// Cuts the columns one by one, as a slice is to do when it is asked.
ColumnBatch cut(const ColumnBatch& batch, const std::shared_ptr<const detail::ColumnNames>& names,
                Range range) {
  std::vector<Column> columns;
  columns.reserve(batch.columns().size());
  for (const Column& column : batch.columns())
    columns.push_back(column.slice(range.first, range.rows));
  return {names, std::move(columns)};
}

TEST(ColumnSlices, HaveTheRowsOfEachColumnAndHoldAsMuchBehindTheCut) {
  SeededRandom random;
  for (int round = 0; round < 300; ++round) {
    const std::int64_t rows = random.between(0, 11);
    const std::vector<Column> columns = draw_columns(random, rows);
    const auto names = names_for(columns);
    const ColumnBatch batch(names, columns);
    const Range range = draw_range(random, rows);
    const ColumnBatch slice = batch.slice(range.first, range.rows);
    const ColumnBatch none = batch.slice(0, 0);
    const ColumnBatch expected = cut(batch, names, range);
    EXPECT_EQ(slice.rows(), range.rows);
    EXPECT_EQ(&slice.names(), &batch.names());
    const std::size_t held_bytes = slice.held_bytes();
    EXPECT_EQ(detail::held_bytes_of_copy(slice), join_rows(std::array{slice, none}).held_bytes());
    const Range inner = draw_range(random, range.rows);
    EXPECT_EQ(slice.slice(inner.first, inner.rows), cut(expected, names, inner));
    EXPECT_EQ(slice, expected);
    EXPECT_EQ(slice.hash(), expected.hash());
    EXPECT_EQ(slice.bytes(), expected.bytes());
    EXPECT_EQ(slice.held_bytes(), held_bytes) << "limits count on that";
    if (range.rows == rows) continue;  // all rows are no slice
    EXPECT_GE(held_bytes, slice.bytes());
    EXPECT_LE(held_bytes, slice.bytes() + 200);
  }
}

TEST(ColumnSlices, AreJoinedAsTheirCutColumnsWouldBe) {
  SeededRandom random;
  for (int round = 0; round < 300; ++round) {
    // Batches of one set of columns: parts of a larger one, each with memory of its own.
    const std::int64_t rows = random.between(2, 21);
    const std::vector<Column> columns = draw_columns(random, rows);
    const ColumnBatch all(names_for(columns), columns);
    const auto shared = names_for(columns);
    std::vector<ColumnBatch> wholes;
    for (std::int64_t first = 0; first < rows;) {
      const std::int64_t count = std::min(rows - first, random.between(1, 7));
      std::vector<Column> copied;
      for (const Column& column : columns) copied.push_back(deep_copy(column.slice(first, count)));
      wholes.emplace_back(random.chance(0.5) ? names_for(columns) : shared, std::move(copied));
      first += count;
    }
    EXPECT_EQ(join_rows(wholes), all);
    std::vector<ColumnBatch> slices;
    std::vector<ColumnBatch> cuts;
    const bool are_single = random.chance(0.5);
    for (int i = 0; i < 10; ++i) {
      const ColumnBatch& whole = wholes[random.below(wholes.size())];
      Range range = draw_range(random, whole.rows());
      if (are_single) range = {random.between(0, whole.rows() - 1), 1};
      slices.push_back(whole.slice(range.first, range.rows));
      if (random.chance(0.25)) slices.back().columns();
      cuts.push_back(cut(whole, names_for(columns), range));
    }
    const TensorPool pool;
    EXPECT_EQ(join_rows(slices, pool), join_rows(cuts));
    for (std::int64_t i = 0, at = 0; i < 10; at += slices[i].rows(), ++i)
      EXPECT_EQ(join_rows(slices).slice(at, slices[i].rows()), cuts[i]);
  }
}

TEST(ColumnSlices, AnyThreadMayBeTheFirstToAsk) {
  SeededRandom random;
  std::vector<Column> columns;
  for (int i = 0; i < 20; ++i) columns.push_back(draw_column(random, 8));
  const ColumnBatch batch(names_for(columns), columns);
  for (std::int64_t row = 0; row < 8; ++row) {
    const ColumnBatch slice = batch.slice(row, 1);
    std::latch start(2);
    const auto ask = [&, copy = slice] {
      start.arrive_and_wait();
      EXPECT_EQ(copy.columns()[7], columns[7].slice(row, 1));
    };
    std::thread other(ask);
    ask();
    other.join();
    EXPECT_EQ(slice.columns().size(), 20U);
  }
}

TEST(ColumnSlices, OutliveTheBatchAndAreOfItsRowsOnly) {
  ColumnBatch slice;
  {
    const ColumnBatch batch({{"x", Column::of_bytes({"a", "bc", "def"})}});
    slice = batch.slice(1, 2);
    for (const Range wrong : {Range{-1, 1}, Range{0, 4}, Range{3, 1}, Range{1, -1}}) {
      EXPECT_EQ(
          error_of([&] { batch.slice(wrong.first, wrong.rows); }).message(),
          fmt::format("{} rows from {} on are wanted of a column of 3", wrong.rows, wrong.first));
    }
  }
  EXPECT_EQ(error_of([&] { slice.slice(1, 2); }).message(),
            "2 rows from 1 on are wanted of a column of 2");
  EXPECT_EQ(slice.slice(1, 1).column("x").bytes(0), "def");
  EXPECT_EQ(slice.with_column("y", Column::of_bytes({"g", "h"})).column("x").bytes(0), "bc");
  EXPECT_EQ(slice.renamed("x", "z").slice(0, 1).column("z").bytes(0), "bc");
}

TEST(ColumnSlices, RowsThatAreNotLikeTheOthersAreNotTaken) {
  const ColumnBatch numbers({{"x", Column::dense(Tensor::copy_of({3}, {1, 2, 3}))}});
  const ColumnBatch texts({{"x", Column::of_bytes({"a", "b"})}});
  detail::RowsToJoin rows;
  EXPECT_EQ(rows.join(nullptr), ColumnBatch());
  rows.append(numbers.slice(2, 1));
  for (const ColumnBatch& other : {texts, texts.slice(0, 1), numbers.renamed("x", "y")}) {
    EXPECT_EQ(error_of([&] { rows.append(other); }).message(),
              error_of([&] {
                join_rows(std::array{numbers, other});
              }).message());
  }
  EXPECT_EQ(rows.held_bytes(), numbers.slice(2, 1).held_bytes());
  rows.append(numbers.slice(0, 1));
  EXPECT_EQ(rows.join(nullptr).column("x"), Column::dense(Tensor::copy_of({2}, {3, 1})));
  EXPECT_TRUE(rows.empty());
  EXPECT_EQ(rows.held_bytes(), 0U);
}

TEST(ColumnSlices, NeighboursAreCopiedToo) {
  const ColumnBatch batch({{"x", Column::dense(Tensor::copy_of({4}, {1, 2, 3, 4}))},
                           {"y", Column::of_bytes({"a", "bc", "", "d"})}});
  const auto none = batch.slice(2, 0);
  const std::array parts = {batch.slice(0, 1), batch.slice(1, 2), none, batch.slice(3, 1)};
  EXPECT_EQ(batch.select({"x"}).slice(0, 2).held_bytes(),
            batch.select({"x"}).slice(0, 1).held_bytes() + sizeof(int));
  const ColumnBatch joined = join_rows(parts);
  EXPECT_EQ(joined, batch);
  EXPECT_NE(joined.columns()[0].values().data(), batch.columns()[0].values().data());
  EXPECT_EQ(join_rows(std::array{batch.slice(1, 1), batch.slice(2, 2)}), batch.slice(1, 3));
  EXPECT_EQ(join_rows(std::array{none, batch.slice(2, 2)}), batch.slice(2, 2));
  const ColumnBatch empty = join_rows(std::array{none, none});
  EXPECT_EQ(empty, none);
  EXPECT_NE(empty.columns()[1].values().owner(), batch.columns()[1].values().owner())
      << "a copy doesn't keep the batch";
}

}  // namespace
}  // namespace infeed::test
