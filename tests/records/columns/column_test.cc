#include "infeed/records/column.h"

#include <limits>
#include <string>

#include "infeed/records/column_batch.h"
#include "records/columns/drawn_columns.h"
#include "seeded_random.h"
#include "thrown_error.h"

namespace infeed {
namespace {

using test::draw_column;
using test::int64s;

Column tokens() { return Column::ragged(Tensor::copy_of({3}, {7, 8, 9}), {int64s({0, 2, 2, 3})}); }

TEST(Column, dense) {
  const Column column = Column::dense(Tensor::copy_of({2, 2}, {1.0F, 2.0F, 3.0F, 4.0F}));
  EXPECT_EQ(column.kind(), Column::Kind::dense);
  EXPECT_EQ(column.dtype(), DType::float32);
  EXPECT_EQ(column.rows(), 2);
  EXPECT_EQ(column.row_shape(), Shape({2}));
  EXPECT_EQ(column.memory_bytes(), 16U);
  const Column second = column.slice(1, 1);
  EXPECT_THAT(second.values<float>(), ElementsAre(3.0F, 4.0F));
  EXPECT_EQ(second.values().data(), column.values().data() + 8) << "values are not copied";
}

TEST(Column, ragged) {
  const Column column = tokens();
  EXPECT_EQ(column.rows(), 3);
  EXPECT_EQ(column.levels(), 1U);
  EXPECT_THAT(column.row_splits(), ElementsAre(0, 2, 2, 3));
  EXPECT_EQ(column.memory_bytes(), 12U + 32U);
  const Column rest = column.slice(1, 2);
  EXPECT_THAT(rest.row_splits(), ElementsAre(0, 0, 1));
  EXPECT_THAT(rest.values<int>(), ElementsAre(9));
  EXPECT_EQ(rest.values().data(), column.values().data() + 8);
  const Column first = column.slice(0, 1);
  EXPECT_EQ(first.row_splits().data(), column.row_splits().data()) << "they begin with 0 already";
}

TEST(Column, ragged_of_two_levels) {
  const Column column =
      Column::ragged(Tensor::copy_of({4}, {1, 2, 3, 4}), {int64s({0, 1, 3}), int64s({0, 2, 2, 4})});
  EXPECT_EQ(column.rows(), 2);  // [[[1, 2]], [[], [3, 4]]]
  EXPECT_EQ(column.levels(), 2U);
  const Column second = column.slice(1, 1);
  EXPECT_THAT(second.row_splits(0), ElementsAre(0, 2));
  EXPECT_THAT(second.row_splits(1), ElementsAre(0, 0, 2));
  EXPECT_THAT(second.values<int>(), ElementsAre(3, 4));
}

TEST(Column, bytes) {
  const Column column = Column::of_bytes({"one", "", "three"});
  EXPECT_EQ(column.dtype(), DType::bytes);
  EXPECT_EQ(column.rows(), 3);
  EXPECT_EQ(column.bytes(0), "one");
  EXPECT_EQ(column.bytes(1), "");
  EXPECT_EQ(column.slice(1, 2).bytes(1), "three");
  EXPECT_EQ(column.slice(1, 2).bytes(1).data(), column.bytes(2).data());
  EXPECT_THAT(column.offsets(), ElementsAre(0, 3, 3, 8));
  EXPECT_EQ(error_of([&] { column.bytes(3); }).message(), "bytes 3 are wanted of a column of 3");
}

TEST(Column, ragged_bytes) {
  const Column flat = Column::of_bytes({"a", "bc", "def"});
  const Column column =
      Column::ragged_bytes({int64s({0, 0, 2, 3})}, flat.partitions()[0], flat.values());
  EXPECT_EQ(column.rows(), 3);
  EXPECT_EQ(column.bytes(1), "bc");
  const Column rest = column.slice(1, 2);
  EXPECT_THAT(rest.row_splits(), ElementsAre(0, 2, 3));
  EXPECT_EQ(rest.bytes(2), "def");
  const Column last = column.slice(2, 1);
  EXPECT_THAT(last.offsets(), ElementsAre(0, 3));
  EXPECT_EQ(last.bytes(0), "def");
}

TEST(Column, padded) {
  const Column column =
      Column::padded(Tensor::copy_of({2, 3}, {1, 2, -1, 3, -1, -1}), int64s({2, 1}));
  EXPECT_EQ(column.width(), 3);
  EXPECT_EQ(column.row_shape(), Shape());
  const Column second = column.slice(1, 1);
  EXPECT_THAT(second.values<int>(), ElementsAre(3, -1, -1));
  EXPECT_THAT(second.lengths(), ElementsAre(1));
}

TEST(Column, parts_must_fit) {
  const Tensor three = Tensor::copy_of({3}, {7, 8, 9});
  const auto message = [&](Tensor splits) {
    return error_of([&] { Column::ragged(three, {std::move(splits)}); }).message();
  };
  EXPECT_EQ(message(int64s({1, 3})), "row splits of a column begin with 1, not 0");
  EXPECT_EQ(message(int64s({0, 2, 1, 3})), "row splits of a column fall from 2 to 1 at 2");
  EXPECT_EQ(message(int64s({0, 2})), "row splits of a column end with 2, but they cut 3 items");
  EXPECT_EQ(message(int64s({})), "row splits of a column are empty; they begin with 0");
  EXPECT_EQ(message(three),
            "row splits of a column must be int64 of rank 1, but these are int32 "
            "of shape [3]");
  EXPECT_EQ(error_of([&] { Column::ragged(three, {}); }).message(),
            "a ragged column needs row splits; there are none");
  EXPECT_EQ(error_of([&] {
              Column::padded(three.reshaped({1, 3}), int64s({4}));
            }).message(),
            "a row of a padded column has the length 4, but the width is 3");
  EXPECT_EQ(error_of([&] {
              Column::padded(three.reshaped({1, 3}), int64s({1, 1}));
            }).message(),
            "a padded column of 1 rows has 2 lengths");
  EXPECT_EQ(error_of([&] { Column::padded(three, int64s({3})); }).message(),
            "the values of a padded column have rows and a width, but their shape is [3]");
  EXPECT_EQ(error_of([&] {
              Column::bytes(int64s({0, 3}), three);
            }).message(),
            "the data of a column of bytes must be uint8 of rank 1, but it is int32 of shape [3]");
  EXPECT_EQ(error_of([&] { Column::dense(Tensor(DType::int8, {})); }).message(),
            "the values of a column have no axis for its rows: their shape is []");
}

TEST(Column, each_kind_has_its_parts) {
  using enum Column::Kind;
  const Tensor three = Tensor::copy_of<std::uint8_t>({3}, {7, 8, 9});
  const Tensor splits = int64s({0, 1, 3});
  const auto made = [&](Column::Kind kind, std::vector<Tensor> partitions) {
    return Column::of_parts(kind, three, std::move(partitions));
  };
  const auto message = [&](Column::Kind kind, std::vector<Tensor> partitions) {
    return error_of([&] { made(kind, std::move(partitions)); }).message();
  };
  EXPECT_EQ(made(dense, {}), Column::dense(three));
  EXPECT_EQ(made(ragged, {splits}), Column::ragged(three, {splits}));
  EXPECT_EQ(made(Column::Kind::bytes, {splits}), Column::bytes(splits, three));
  EXPECT_EQ(made(Column::Kind::ragged_bytes, {int64s({0, 2}), splits}),
            Column::ragged_bytes({int64s({0, 2})}, splits, three));
  EXPECT_EQ(message(dense, {splits}), "a column that is dense has 1 partitions too many");
  EXPECT_EQ(message(ragged, {}), "a ragged column needs row splits; there are none");
  EXPECT_EQ(message(padded, {}), "a column that is padded lacks its lengths");
  EXPECT_EQ(message(padded, {splits, splits}), "a column that is padded has 1 partitions too many");
  EXPECT_EQ(message(Column::Kind::bytes, {}), "a column that is bytes lacks its offsets");
  EXPECT_EQ(message(Column::Kind::bytes, {splits, splits}),
            "a column that is bytes has 1 partitions too many");
  EXPECT_EQ(message(Column::Kind::ragged_bytes, {}),
            "a column that is ragged_bytes lacks its offsets");
  EXPECT_EQ(message(Column::Kind::ragged_bytes, {int64s({0, 1}), splits}),
            "row splits of a column end with 1, but they cut 2 items");
  EXPECT_EQ(message(Column::Kind::bytes, {int64s({0, 2})}),
            "offsets of a column end with 2, but they cut 3 items");
  EXPECT_EQ(message(ragged, {splits.reshaped({1, 3})}),
            "row splits of a column must be int64 of rank 1, but these are int64 of shape [1, 3]");
  const auto padded_to_3 = [&](std::int64_t length) {
    return Column::padded(three.reshaped({1, 3}), int64s({length}));
  };
  EXPECT_EQ(padded_to_3(0).lengths()[0], 0);
  EXPECT_EQ(padded_to_3(3).lengths()[0], 3);
  EXPECT_EQ(error_of([&] { padded_to_3(-1); }).message(),
            "a row of a padded column has the length -1, but the width is 3");
  EXPECT_EQ(error_of([&] {
              Column::padded(three.reshaped({1, 3}), three);
            }).message(),
            "lengths of a column must be int64 of rank 1, but these are uint8 of shape [3]");
}

TEST(Column, places_that_are_not_there) {
  const Column column = Column::of_bytes({"a", "bc", ""});
  EXPECT_EQ(column.bytes(2), "");
  EXPECT_EQ(column.slice(0, 3), column);
  EXPECT_EQ(column.slice(3, 0).rows(), 0);
  EXPECT_EQ(error_of([&] { column.bytes(-1); }).message(), "bytes -1 are wanted of a column of 3");
  EXPECT_EQ(error_of([&] { column.slice(-1, 1); }).message(),
            "1 rows from -1 on are wanted of a column of 3");
  EXPECT_EQ(error_of([&] { column.slice(1, -1); }).message(),
            "-1 rows from 1 on are wanted of a column of 3");
  EXPECT_EQ(error_of([&] { column.slice(0, 4); }).message(),
            "4 rows from 0 on are wanted of a column of 3");
  EXPECT_EQ(error_of([&] { column.slice(4, 0); }).message(),
            "0 rows from 4 on are wanted of a column of 3");
  EXPECT_EQ(error_of([&] { column.row_splits(); }).message(),
            "row splits of level 0 are wanted, but a column that is bytes has 0");
  EXPECT_EQ(error_of([&] { column.width(); }).message(),
            "widths are wanted of a column that is bytes; only one that is padded has them");
  EXPECT_FALSE(column.is_ragged());
}

TEST(Column, what_belongs_to_another_kind) {
  const Column column = tokens();
  EXPECT_EQ(error_of([&] { column.lengths(); }).message(),
            "lengths are wanted of a column that is ragged; only one that is padded has them");
  EXPECT_EQ(error_of([&] { column.bytes(0); }).message(),
            "offsets are wanted of a column that is ragged; only one that is bytes has them");
  EXPECT_EQ(error_of([&] { column.row_splits(1); }).message(),
            "row splits of level 1 are wanted, but a column that is ragged has 1");
  EXPECT_EQ(error_of([&] { column.slice(2, 2); }).message(),
            "2 rows from 2 on are wanted of a column of 3");
}

/// Random columns: a slice shows the same as its copy, is equal to it and has the same hash.
TEST(Column, slices_of_drawn_columns) {
  test::SeededRandom random;
  for (int round = 0; round < 2000; ++round) {
    const Column column = draw_column(random, static_cast<std::int64_t>(random() % 9));
    const auto first = static_cast<std::int64_t>(random() % (column.rows() + 1));
    const auto rows = static_cast<std::int64_t>(random() % (column.rows() - first + 1));
    const Column slice = column.slice(first, rows);
    ASSERT_EQ(slice.rows(), rows);
    const Column copy = test::deep_copy(slice);
    ASSERT_EQ(slice, copy);
    ASSERT_EQ(slice.hash(), copy.hash());
    for (std::int64_t i = 0; i < rows; ++i) {
      ASSERT_EQ(test::row_text(slice, i), test::row_text(column, first + i));
    }
    if (rows != column.rows()) {
      ASSERT_NE(slice, column);
      ASSERT_NE(slice.hash(), column.hash());
    }
    const Column whole = column.slice(0, column.rows());
    ASSERT_EQ(whole, column);
    ASSERT_EQ(whole.hash(), column.hash());
  }
}

TEST(Column, hash_tells_kinds_and_partitions_apart) {
  const Tensor three = Tensor::copy_of<std::uint8_t>({3}, {7, 8, 9});
  const Tensor splits = int64s({0, 1, 3});
  const Column ragged = Column::ragged(three, {splits});
  EXPECT_NE(ragged.hash(), Column::ragged(three, {int64s({0, 2, 3})}).hash());
  EXPECT_NE(ragged.hash(), Column::bytes(splits, three).hash());
  EXPECT_NE(ragged, Column::bytes(splits, three));
  const Tensor others = Tensor::copy_of<std::uint8_t>({3}, {7, 8, 8});
  EXPECT_NE(ragged.hash(), Column::ragged(others, {splits}).hash());
}

ColumnBatch small_batch() {
  return ColumnBatch({{"image", Column::dense(Tensor(DType::uint8, {3, 4}))},
                      {"meta.author", Column::of_bytes({"Ada", "Grace", "Ada"})},
                      {"tokens", tokens()}});
}

TEST(ColumnBatch, finds_columns_by_name) {
  const ColumnBatch batch = small_batch();
  EXPECT_EQ(batch.rows(), 3);
  EXPECT_THAT(batch.names(), ElementsAre("image", "meta.author", "tokens"));
  EXPECT_EQ(batch.columns().size(), 3U);
  EXPECT_EQ(batch.column("meta.author").bytes(1), "Grace");
  EXPECT_EQ(batch.find("label"), nullptr);
  EXPECT_EQ(batch.bytes(), 12U + (4 * 8 + 11) + (3 * 4 + 4 * 8));
  const ColumnBatch last = batch.slice(2, 1);
  EXPECT_EQ(last.rows(), 1);
  EXPECT_THAT(last.column("tokens").values<int>(), ElementsAre(9));
  EXPECT_EQ(error_of([&] { batch.column("token"); }).message(),
            "there is no column 'token'; did you mean 'tokens'?; the batch has 'tokens', 'image', "
            "'meta.author'");
  EXPECT_EQ(error_of([&] { batch.column("a long name"); }).message(),
            "there is no column 'a long name'; the batch has 'image', 'tokens', 'meta.author'");
}

TEST(ColumnBatch, without_columns) {
  const ColumnBatch batch;
  EXPECT_EQ(batch.rows(), 0);
  EXPECT_EQ(batch.find(""), nullptr);
  EXPECT_EQ(batch, ColumnBatch(std::vector<NamedColumn>()));
  EXPECT_EQ(error_of([&] { batch.column("x"); }).message(),
            "there is no column 'x': the batch has none");
}

TEST(ColumnBatch, one_that_was_moved_from_has_no_columns) {
  ColumnBatch batch = small_batch();
  const ColumnBatch moved = std::move(batch);
  EXPECT_EQ(moved.rows(), 3);
  EXPECT_EQ(batch, ColumnBatch());  // NOLINT(bugprone-use-after-move): that is what is tested
  EXPECT_EQ(batch.slice(0, 0).rows(), 0);
  EXPECT_EQ(batch.bytes(), 0U);
  EXPECT_EQ(batch.hash(), ColumnBatch().hash());
  EXPECT_EQ(error_of([&] { batch.slice(0, 1); }).message(),
            "1 rows from 0 on are wanted of a column of 0");
}

TEST(ColumnBatch, columns_must_fit) {
  EXPECT_EQ(error_of([] {
              ColumnBatch({{"a", Column::of_bytes({"x"})}, {"a", Column::of_bytes({"y"})}});
            }).message(),
            "column 'a' is given twice, as columns 0 and 1 (from 0 on); leave one out, or give it "
            "another name");
  EXPECT_EQ(error_of([] {
              ColumnBatch({{"a", Column::of_bytes({"x"})}, {"b", Column::of_bytes({})}});
            }).message(),
            "column 'b' has 0 rows, but 'a' has 1; all columns of a batch have as many");
}

TEST(ColumnBatch, is_compared_and_hashed_by_its_content) {
  const Column ada = Column::of_bytes({"Ada"});
  const ColumnBatch batch({{"a", ada}, {"b", ada}});
  EXPECT_EQ(batch, ColumnBatch({{"a", ada}, {"b", test::deep_copy(ada)}}));
  EXPECT_NE(batch, ColumnBatch({{"b", ada}, {"a", ada}}));
  EXPECT_NE(batch.hash(), ColumnBatch({{"b", ada}, {"a", ada}}).hash());
  EXPECT_NE(batch.hash(), ColumnBatch({{"a", ada}}).hash());
  const Column grace = Column::of_bytes({"Grace"});
  EXPECT_NE(batch.hash(), ColumnBatch({{"a", ada}, {"b", grace}}).hash());
  EXPECT_NE(batch.hash(), ColumnBatch({{"a", ada}, {"c", ada}}).hash());
  const Tensor nan = Tensor::copy_of({1}, {std::numeric_limits<double>::quiet_NaN()});
  EXPECT_EQ(ColumnBatch({{"x", Column::dense(nan)}}),
            ColumnBatch({{"x", test::deep_copy(Column::dense(nan))}}));
}

TEST(ColumnBatch, hundreds_of_columns) {
  std::vector<NamedColumn> columns;
  for (int i = 0; i < 1000; ++i) {
    columns.push_back({"feature_" + std::to_string(i), Column::dense(Tensor::copy_of({1}, {i}))});
  }
  const ColumnBatch batch(std::move(columns));
  for (int i = 0; i < 1000; ++i) {
    ASSERT_EQ(batch.column("feature_" + std::to_string(i)).values<int>()[0], i);
  }
  EXPECT_THAT(error_of([&] { batch.column("feature_1000"); }).message(),
              StartsWith("there is no column 'feature_1000'; did you mean "
                         "'feature_100'?; the batch has 'feature_100', "));
}

}  // namespace
}  // namespace infeed
