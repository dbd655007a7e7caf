#include <array>
#include <string>
#include <utility>
#include <vector>

#include <infeed/records/column_batch.h>
#include <infeed/records/column_builder.h>

#include "records/columns/drawn_columns.h"
#include "thrown_error.h"

namespace infeed::test {
namespace {

TEST(JoinRows, PutsRowsBelowEachOther) {
  using Lists = std::vector<std::vector<int>>;
  using Texts = std::vector<std::vector<std::string>>;
  const auto padded = [](std::initializer_list<int> values,
                         std::initializer_list<std::int64_t> to) {
    return Column::padded(Tensor::copy_of({static_cast<std::int64_t>(to.size()), 2}, values),
                          int64s(to));
  };
  const ColumnBatch first({{"dense", Column::dense(Tensor::copy_of({2, 2}, {1, 2, 3, 4}))},
                           {"lists", ragged_column_of(Lists{{1, 2}, {}})},
                           {"padded", padded({5, 6, 7, 0}, {2, 1})},
                           {"text", column_of(std::vector<std::string>{"ab", "c"})},
                           {"words", ragged_column_of(Texts{{}, {"d", "ef"}})}});
  const ColumnBatch second({{"words", ragged_column_of(Texts{{"g"}})},
                            {"text", column_of(std::vector<std::string>{"def"})},
                            {"padded", padded({0, 0}, {0})},
                            {"lists", ragged_column_of(Lists{{3}})},
                            {"dense", Column::dense(Tensor::copy_of({1, 2}, {5, 6}))}});
  const TensorPool pool;
  for (const ColumnBatch& joined : {join_rows(std::array{first, second, first.slice(0, 0)}),
                                    join_rows(std::array{first, second}, pool)}) {
    EXPECT_EQ(joined.rows(), 3);
    EXPECT_THAT(joined.names(), ElementsAre("dense", "lists", "padded", "text", "words"))
        << "as in the first";
    EXPECT_EQ(joined.column("dense"), Column::dense(Tensor::copy_of({3, 2}, {1, 2, 3, 4, 5, 6})));
    EXPECT_EQ(joined.column("lists"), ragged_column_of(Lists{{1, 2}, {}, {3}}));
    EXPECT_EQ(joined.column("padded"), padded({5, 6, 7, 0, 0, 0}, {2, 1, 0}));
    EXPECT_EQ(joined.column("text"), column_of(std::vector<std::string>{"ab", "c", "def"}));
    EXPECT_EQ(joined.column("words"), ragged_column_of(Texts{{}, {"d", "ef"}, {"g"}}));
  }
}

TEST(JoinRows, JoinsEachLevel) {
  const auto column = [](std::vector<int> values, Tensor outer, Tensor inner) {
    return Column::ragged(column_of(std::move(values)).values(),
                          {std::move(outer), std::move(inner)});
  };
  const ColumnBatch first({{"x", column({1, 2, 3}, int64s({0, 2}), int64s({0, 1, 3}))}});
  const ColumnBatch second({{"x", column({4}, int64s({0, 0, 1}), int64s({0, 1}))}});
  EXPECT_EQ(join_rows(std::array{first, second}).column("x"),
            column({1, 2, 3, 4}, int64s({0, 2, 2, 3}), int64s({0, 1, 3, 4})));
}

TEST(JoinRows, TakesMemoryFromThePoolAndNoneForOneBatch) {
  const TensorPool pool;
  const ColumnBatch batch({{"x", column_of(std::vector<int>{1, 2})}});
  EXPECT_EQ(join_rows(std::array{batch}, pool).column("x").values().data(),
            batch.column("x").values().data());
  { const ColumnBatch joined = join_rows(std::array{batch, batch}, pool); }
  EXPECT_EQ(pool.free_bytes(), 64U);
}

TEST(JoinRows, SharesTheNames) {
  const ColumnBatch first({{"x", column_of(std::vector<int>{1})}});
  const ColumnBatch second({{"x", column_of(std::vector<int>{2})}});
  EXPECT_EQ(&join_rows(std::array{first, second}).names(), &first.names());
  EXPECT_EQ(join_rows(std::array{ColumnBatch(), ColumnBatch()}), ColumnBatch());
}

TEST(JoinRows, ColumnsMustBeAlike) {
  const ColumnBatch one({{"x", Column::dense(Tensor::copy_of({1}, {1.0F}))}});
  const ColumnBatch other({{"y", Column::dense(Tensor::copy_of({1}, {1.0F}))}});
  const ColumnBatch wide({{"x", Column::dense(Tensor::copy_of({1, 2}, {1.0F, 2.0F}))}});
  const auto message = [&](const ColumnBatch& second) {
    return error_of([&] { join_rows(std::array{one, second}); }).message();
  };
  EXPECT_EQ(message(other), "join_rows: one batch has the columns [x], another [y]");
  EXPECT_EQ(message(wide),
            "join_rows: column 'x' is dense of float32 [] in one batch and dense of float32 [2] in "
            "another; all must be alike");
  EXPECT_EQ(message(ColumnBatch({{"x", Column::dense(Tensor::copy_of({1}, {1}))}})),
            "join_rows: column 'x' is dense of float32 [] in one batch and dense of int32 [] in "
            "another; all must be alike");
  EXPECT_EQ(message(ColumnBatch({{"x", column_of(std::vector<std::string>{"a"})}})),
            "join_rows: column 'x' is dense of float32 [] in one batch and bytes of bytes [] in "
            "another; all must be alike");
  EXPECT_EQ(message(one.with_column("y", one.column("x"))),
            "join_rows: one batch has the columns [x], another [x, y]");
  const ColumnBatch padded({{"x", Column::padded(wide.column("x").values(), int64s({2}))}});
  EXPECT_EQ(error_of([&] {
              join_rows(std::array{wide, padded});
            }).message(),
            "join_rows: column 'x' is dense of float32 [2] in one batch and padded of float32 [2] "
            "in another; all must be alike");
  const auto levels = [](std::vector<Tensor> splits) {
    return ColumnBatch({{"x", Column::ragged(Tensor::copy_of({1}, {1.0F}), std::move(splits))}});
  };
  const ColumnBatch flat = levels({int64s({0, 1})});
  const ColumnBatch deep = levels({int64s({0, 1}), int64s({0, 1})});
  EXPECT_EQ(error_of([&] {
              join_rows(std::array{flat, deep});
            }).message(),
            "join_rows: column 'x' is ragged of float32 [] in one batch and ragged of float32 [] "
            "in another; all must be alike");
  EXPECT_EQ(join_rows({}).rows(), 0);
}

}  // namespace
}  // namespace infeed::test
