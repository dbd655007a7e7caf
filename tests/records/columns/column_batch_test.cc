#include <array>

#include <infeed/records/column_batch.h>

#include "thrown_error.h"

namespace infeed::test {
namespace {

Column numbers(std::initializer_list<std::int64_t> values) {
  return Column::dense(
      Tensor::copy_of<std::int64_t>({static_cast<std::int64_t>(values.size())}, values));
}

ColumnBatch two_columns() {
  return ColumnBatch({{"id", numbers({1, 2})}, {"name", Column::of_bytes({"Ada", "Grace"})}});
}

TEST(ColumnBatch, TakesOneMoreColumnOrAnotherInItsPlace) {
  const ColumnBatch batch = two_columns();
  const ColumnBatch more = batch.with_column("age", numbers({36, 85}));
  EXPECT_THAT(more.names(), ElementsAre("id", "name", "age"));
  EXPECT_THAT(more.column("age").values<std::int64_t>(), ElementsAre(36, 85));
  const ColumnBatch other = batch.with_column("id", numbers({7, 8}));
  EXPECT_THAT(other.names(), ElementsAre("id", "name"));
  EXPECT_THAT(other.column("id").values<std::int64_t>(), ElementsAre(7, 8));
  EXPECT_EQ(batch, two_columns()) << "the batch itself stays";
  EXPECT_THAT(ColumnBatch().with_column("id", numbers({3})).names(), ElementsAre("id"));
  EXPECT_EQ(error_of([&] { batch.with_column("age", numbers({1})); }).message(),
            "column 'age' has 1 rows, but 'id' has 2; all columns of a batch have as many");
}

TEST(ColumnBatch, SelectsColumnsInAnyOrder) {
  const ColumnBatch batch = two_columns();
  EXPECT_THAT(batch.select({"name", "id"}).names(), ElementsAre("name", "id"));
  EXPECT_EQ(batch.select({"id", "name"}), batch);
  EXPECT_EQ(batch.select({"id"}).column("id").values<std::int64_t>().data(),
            batch.column("id").values<std::int64_t>().data())
      << "nothing is copied";
  EXPECT_EQ(batch.select({}).rows(), 0);
  EXPECT_EQ(error_of([&] { batch.select({"nam"}); }).code(), ErrorCode::invalid_argument);
  EXPECT_EQ(error_of([&] { batch.select({"id", "id"}); }).code(), ErrorCode::invalid_argument);
}

TEST(ColumnBatch, RenamesAColumn) {
  const ColumnBatch batch = two_columns();
  const ColumnBatch renamed = batch.renamed("name", "author");
  EXPECT_THAT(renamed.names(), ElementsAre("id", "author"));
  EXPECT_EQ(renamed.column("author"), batch.column("name"));
  EXPECT_EQ(batch.renamed("id", "id"), batch);
  EXPECT_EQ(error_of([&] { batch.renamed("name", "id"); }).code(), ErrorCode::invalid_argument);
  EXPECT_EQ(error_of([&] { batch.renamed("age", "x"); }).code(), ErrorCode::invalid_argument);
  EXPECT_EQ(error_of([&] { ColumnBatch().renamed("age", "x"); }).code(),
            ErrorCode::invalid_argument);
}

TEST(ColumnBatch, HoldsMoreThanItsValues) {
  const ColumnBatch batch = two_columns();
  EXPECT_GT(batch.held_bytes(), batch.bytes() + 2 * sizeof(Column));
  EXPECT_EQ(ColumnBatch().held_bytes(), 0U);
  const ColumnBatch large({{"x", Column::dense(Tensor(DType::uint8, {1 << 20}))}});
  EXPECT_GT(large.held_bytes(), large.bytes());
  EXPECT_LE(large.held_bytes(), large.bytes() + 1000);
}

TEST(ColumnBatch, ASliceHoldsItsPart) {
  const ColumnBatch batch = two_columns();
  const ColumnBatch row = batch.slice(0, 1);
  EXPECT_LT(row.held_bytes(), batch.held_bytes()) << "it shares names and values";
  EXPECT_GT(row.held_bytes(), row.bytes());
  const ColumnBatch whole = batch.slice(0, 2);
  EXPECT_EQ(whole.held_bytes(), batch.held_bytes());
  EXPECT_EQ(whole.columns().data(), batch.columns().data()) << "nothing is made for all rows";
}

TEST(ColumnBatch, NamesOfItsOwnCount) {
  const std::string long_name(10'000, 'x');
  const ColumnBatch own({{long_name, numbers({1, 2})}});
  const auto names = detail::column_names({long_name});
  const ColumnBatch shared(names, {numbers({1, 2})});
  EXPECT_GT(own.held_bytes(), shared.held_bytes() + long_name.size());
  EXPECT_EQ(&own.slice(0, 1).names(), &own.names());
  EXPECT_LT(own.slice(0, 1).held_bytes(), long_name.size()) << "each of its rows would count them";
}

TEST(ColumnBatch, OtherColumnsUnderTheSameNames) {
  const ColumnBatch batch = two_columns();
  const ColumnBatch other = batch.with_columns({numbers({7}), Column::of_bytes({"Eve"})});
  EXPECT_EQ(&other.names(), &batch.names());
  EXPECT_EQ(other.rows(), 1);
  EXPECT_EQ(ColumnBatch().with_columns({}), ColumnBatch());
  EXPECT_EQ(error_of([&] { batch.with_columns({numbers({7})}); }).message(),
            "a batch of 1 columns has 2 names");
  EXPECT_EQ(error_of([&] { ColumnBatch().with_columns({numbers({7})}); }).message(),
            "a batch of 1 columns has 0 names");
}

/// The batch that had the names first is dropped, and nobody else counts them.
TEST(ColumnBatch, NamesOfTheBatchThatItWasMadeOfCount) {
  const std::string long_name(10'000, 'x');
  const ColumnBatch own({{long_name, numbers({1, 2})}});
  EXPECT_EQ(own.with_column(long_name, numbers({3, 4})).held_bytes(), own.held_bytes());
  EXPECT_GT(join_rows(std::array{own, own}).held_bytes(), long_name.size());
  EXPECT_GT(own.with_columns({numbers({5})}).held_bytes(), long_name.size());
  const ColumnBatch shared(detail::column_names({long_name}), {numbers({1})});
  EXPECT_GT(shared.held_bytes(), long_name.size()) << "nobody else has them";
}

}  // namespace
}  // namespace infeed::test
