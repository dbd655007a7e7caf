#include <infeed/records/column_builder.h>

#include "thrown_error.h"

namespace infeed::test {
namespace {

TEST(ColumnBuilder, MakesColumnsOfVectors) {
  std::vector<std::int64_t> ids = {7, 8};
  const std::int64_t* const memory = ids.data();
  const Column column = column_of(std::move(ids));
  EXPECT_EQ(column.values<std::int64_t>().data(), memory) << "the values stay where they are";
  EXPECT_THAT(column.values<std::int64_t>(), ElementsAre(7, 8));
  EXPECT_THAT(column_of(std::vector<bool>{true, false}).values<bool>(), ElementsAre(true, false));
  const Column names = column_of(std::vector<std::string>{"Ada", ""});
  EXPECT_EQ(names, Column::of_bytes({"Ada", ""}));
  EXPECT_EQ(column_of(std::vector<float>()).rows(), 0);
  EXPECT_EQ(column_of(std::vector<std::string>()).rows(), 0);
}

TEST(ColumnBuilder, BuildsRaggedRows) {
  RaggedBuilder<float> builder;
  builder.add(1);
  builder.add(2);
  builder.end_row();
  builder.end_row();
  builder.add_row(std::vector<float>{3});
  EXPECT_EQ(builder.rows(), 3);
  const Column column = builder.finish();
  EXPECT_EQ(column.kind(), Column::Kind::ragged);
  EXPECT_THAT(column.values<float>(), ElementsAre(1, 2, 3));
  EXPECT_THAT(column.row_splits(), ElementsAre(0, 2, 2, 3));
  EXPECT_EQ(builder.finish().rows(), 0) << "the builder begins anew";
  EXPECT_EQ(column, ragged_column_of(std::vector<std::vector<float>>{{1, 2}, {}, {3}}));
}

TEST(ColumnBuilder, BuildsRaggedTexts) {
  const Column column =
      ragged_column_of(std::vector<std::vector<std::string>>{{"a", ""}, {}, {"bc"}});
  EXPECT_EQ(column.kind(), Column::Kind::ragged_bytes);
  EXPECT_THAT(column.row_splits(), ElementsAre(0, 2, 2, 3));
  EXPECT_EQ(column.bytes(1), "");
  EXPECT_EQ(column.bytes(2), "bc");
}

TEST(ColumnBuilder, LosesNoOpenRow) {
  RaggedBuilder<int> builder;
  builder.add(1);
  EXPECT_EQ(error_of([&] { builder.finish(); }).code(), ErrorCode::failed_precondition);
  builder.end_row();
  EXPECT_EQ(builder.finish().rows(), 1);
}

TEST(ColumnBuilder, JoinsColumnsSideBySide) {
  const ColumnBatch left({{"a", column_of(std::vector<int>{1, 2})}});
  const ColumnBatch right({{"b", column_of(std::vector<int>{3, 4})}});
  const ColumnBatch both = join_columns({left, right});
  EXPECT_THAT(both.names(), ElementsAre("a", "b"));
  EXPECT_EQ(both.column("b"), right.column("b"));
  EXPECT_EQ(join_columns({left}), left);
  EXPECT_EQ(join_columns({}), ColumnBatch());
  EXPECT_THAT(error_of([&] { join_columns({left, left}); }).message(), HasSubstr("'a'"));
  EXPECT_THAT(error_of([&] {
                join_columns({left, right.slice(0, 1)});
              }).message(),
              HasSubstr("column 'b' has 1 rows, but 'a' has 2"));
}

}  // namespace
}  // namespace infeed::test
