#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <infeed/records/column_parser.h>

#include "columns/column_plan.h"
#include "counting_memory.h"
#include "matchers.h"
#include "records/example/wire_writer.h"

/// Lists in the usual form that become rows, and those that are left to the slower way.
namespace infeed::detail {
namespace {

using test::bytes_field;
using test::packed_integers;

/// A column that takes lists in the usual form, for up to four rows.
class UsualColumn {
 public:
  explicit UsualColumn(ColumnType type) : column_(plan_column(std::move(type))) {
    parse_ = plan_usual_form(column_->type);
    begin_column(*column_, 4, growing_, pool_);
  }
  bool is_planned() const { return parse_ != nullptr; }
  bool reads(FeatureKind kind, std::string_view list, std::size_t row = 0,
             LateCopy* late = nullptr) {
    return parse_(*column_, kind, list, growing_, UsualRow{row, pool_, late});
  }
  Column finish(std::size_t rows) { return finish_column(*column_, rows, growing_, pool_); }

 private:
  TensorPool pool_;
  std::unique_ptr<PlannedColumn> column_;
  ParseList parse_ = nullptr;
  GrowingColumn growing_;
};

std::string packed_floats(const std::vector<float>& values) {
  return bytes_field(1,
                     {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(float)});
}

TEST(UsualColumns, SomeTypesHaveNoQuickWay) {
  const auto is_planned = [](ColumnType type) { return UsualColumn(std::move(type)).is_planned(); };
  using enum Column::Kind;
  for (const DType dtype : {DType::int8, DType::int16, DType::int32, DType::int64, DType::uint8,
                            DType::uint16, DType::uint32, DType::uint64, DType::float32}) {
    EXPECT_TRUE(is_planned({.name = "x", .dtype = dtype})) << to_string(dtype);
    EXPECT_TRUE(is_planned({.name = "x", .dtype = dtype, .shape = {2}})) << to_string(dtype);
    EXPECT_FALSE(is_planned({.name = "x", .dtype = dtype, .shape = {2}, .kind = ragged}));
    EXPECT_FALSE(is_planned({.name = "x", .dtype = dtype, .kind = padded}));
    EXPECT_FALSE(is_planned({.name = "x", .dtype = dtype, .kind = padded, .width = 2}));
    EXPECT_EQ(is_planned({.name = "x", .dtype = dtype, .kind = ragged}), dtype != DType::uint8);
  }
  for (const DType dtype : {DType::boolean, DType::float16, DType::bfloat16, DType::float64}) {
    EXPECT_FALSE(is_planned({.name = "x", .dtype = dtype})) << to_string(dtype);
    EXPECT_FALSE(is_planned({.name = "x", .dtype = dtype, .kind = ragged})) << to_string(dtype);
  }
  EXPECT_FALSE(is_planned({.name = "x", .dtype = DType::int32, .shape = {0}}));
  EXPECT_TRUE(is_planned({.name = "x", .dtype = DType::bytes, .kind = Column::Kind::bytes}));
  EXPECT_FALSE(
      is_planned({.name = "x", .dtype = DType::bytes, .kind = Column::Kind::ragged_bytes}));
  EXPECT_FALSE(is_planned({.name = "x",
                           .dtype = DType::int32,
                           .kind = ragged,
                           .ragged_levels = 2,
                           .partition = RowLengths{"y"}}));
}

TEST(UsualColumns, RowsOfNumbers) {
  UsualColumn one({.name = "x", .dtype = DType::int16});
  EXPECT_TRUE(one.reads(FeatureKind::integers, packed_integers({-7}), 1));
  EXPECT_TRUE(one.reads(FeatureKind::integers, packed_integers({32767}), 0));
  EXPECT_TRUE(one.reads(FeatureKind::integers, "\x08\x05", 2)) << "not packed";
  for (const std::string& list :
       {packed_integers({32768}), packed_integers({1, 2}), packed_integers({}), std::string()}) {
    EXPECT_FALSE(one.reads(FeatureKind::integers, list, 3));
  }
  EXPECT_FALSE(one.reads(FeatureKind::floats, packed_integers({1}), 3));
  EXPECT_FALSE(one.reads(FeatureKind::bytes, packed_integers({1}), 3));
  EXPECT_THAT(one.finish(3).values<std::int16_t>(), ElementsAre(32767, -7, 5));

  UsualColumn pair({.name = "x", .dtype = DType::uint16, .shape = {2}});
  EXPECT_TRUE(pair.reads(FeatureKind::integers, packed_integers({3, 4}), 1));
  EXPECT_TRUE(pair.reads(FeatureKind::integers, packed_integers({1, 65535}), 0));
  EXPECT_FALSE(pair.reads(FeatureKind::integers, packed_integers({1, 65536}), 2));
  EXPECT_FALSE(pair.reads(FeatureKind::integers, packed_integers({1}), 2));
  EXPECT_FALSE(pair.reads(FeatureKind::integers, packed_integers({1, 2, 3}), 2));
  EXPECT_FALSE(pair.reads(FeatureKind::bytes, packed_integers({1, 2}), 2));
  EXPECT_THAT(pair.finish(2).values<std::uint16_t>(), ElementsAre(1, 65535, 3, 4));

  UsualColumn real({.name = "x", .dtype = DType::float32});
  EXPECT_TRUE(real.reads(FeatureKind::floats, packed_floats({0.5F}), 1));
  EXPECT_TRUE(real.reads(FeatureKind::floats, "\x0d" + std::string(4, '\0'), 0)) << "not packed";
  EXPECT_FALSE(real.reads(FeatureKind::floats, packed_floats({1, 2}), 2));
  EXPECT_FALSE(real.reads(FeatureKind::floats, packed_floats({}), 2));
  EXPECT_FALSE(real.reads(FeatureKind::bytes, packed_floats({1}), 2));
  EXPECT_THAT(real.finish(2).values<float>(), ElementsAre(0, 0.5F));

  UsualColumn point({.name = "x", .dtype = DType::float32, .shape = {2}});
  EXPECT_TRUE(point.reads(FeatureKind::floats, packed_floats({3, 4}), 1));
  EXPECT_TRUE(point.reads(FeatureKind::floats, packed_floats({1, 2}), 0));
  EXPECT_FALSE(point.reads(FeatureKind::floats, packed_floats({1, 2, 3}), 2));
  EXPECT_FALSE(point.reads(FeatureKind::floats, packed_floats({1}), 2));
  EXPECT_FALSE(point.reads(FeatureKind::bytes, packed_floats({1, 2}), 2));
  EXPECT_THAT(point.finish(2).values<float>(), ElementsAre(1, 2, 3, 4));
}

TEST(UsualColumns, RowsOfBytes) {
  UsualColumn pixels({.name = "x", .dtype = DType::uint8, .shape = {3}});
  EXPECT_TRUE(pixels.reads(FeatureKind::bytes, bytes_field(1, "def"), 1));
  EXPECT_TRUE(pixels.reads(FeatureKind::bytes, bytes_field(1, "abc"), 0));
  EXPECT_FALSE(pixels.reads(FeatureKind::bytes, bytes_field(1, "ab"), 2));
  EXPECT_FALSE(pixels.reads(FeatureKind::bytes, bytes_field(1, "abcd"), 2));
  EXPECT_FALSE(pixels.reads(FeatureKind::bytes, bytes_field(1, "a") + bytes_field(1, "bc"), 2));
  EXPECT_FALSE(pixels.reads(FeatureKind::integers, packed_integers({1, 2, 3}), 2));
  EXPECT_THAT(pixels.finish(2).values<std::uint8_t>(), ElementsAre('a', 'b', 'c', 'd', 'e', 'f'));
  UsualColumn nothing({.name = "x", .dtype = DType::uint8, .shape = {0}});
  EXPECT_FALSE(nothing.reads(FeatureKind::bytes, bytes_field(1, "")))
      << "an empty value may count as a missing one";

  UsualColumn text({.name = "x", .dtype = DType::bytes, .kind = Column::Kind::bytes});
  EXPECT_TRUE(text.reads(FeatureKind::bytes, bytes_field(1, "one")));
  EXPECT_TRUE(text.reads(FeatureKind::bytes, bytes_field(1, "")));
  EXPECT_TRUE(text.reads(FeatureKind::bytes, bytes_field(1, "three")));
  EXPECT_FALSE(text.reads(FeatureKind::bytes, bytes_field(1, "a") + bytes_field(1, "b")));
  EXPECT_FALSE(text.reads(FeatureKind::bytes, ""));
  EXPECT_FALSE(text.reads(FeatureKind::floats, bytes_field(1, "four")));
  EXPECT_EQ(text.finish(3), Column::of_bytes({"one", "", "three"}));
}

TEST(UsualColumns, RowsOfAnyLength) {
  UsualColumn tokens({.name = "x", .dtype = DType::int8, .kind = Column::Kind::ragged});
  EXPECT_TRUE(tokens.reads(FeatureKind::integers, packed_integers({1, -2, 3})));
  EXPECT_TRUE(tokens.reads(FeatureKind::integers, packed_integers({127})));
  EXPECT_FALSE(tokens.reads(FeatureKind::integers, packed_integers({})))
      << "an empty list may count as a missing one";
  EXPECT_FALSE(tokens.reads(FeatureKind::integers, packed_integers({1, 128})));
  EXPECT_FALSE(tokens.reads(FeatureKind::bytes, packed_integers({1})));
  EXPECT_FALSE(tokens.reads(FeatureKind::integers, "\x08\x05")) << "not packed";
  const Column ints = tokens.finish(2);
  EXPECT_THAT(ints.values<std::int8_t>(), ElementsAre(1, -2, 3, 127));
  EXPECT_THAT(ints.row_splits(), ElementsAre(0, 3, 4));

  UsualColumn reals({.name = "x", .dtype = DType::float32, .kind = Column::Kind::ragged});
  EXPECT_TRUE(reals.reads(FeatureKind::floats, packed_floats({1, 2})));
  EXPECT_TRUE(reals.reads(FeatureKind::floats, packed_floats({3})));
  EXPECT_FALSE(reals.reads(FeatureKind::floats, packed_floats({})));
  EXPECT_FALSE(reals.reads(FeatureKind::floats, bytes_field(1, "12345")));
  EXPECT_FALSE(reals.reads(FeatureKind::floats, packed_floats({1}) + packed_floats({2})));
  EXPECT_FALSE(reals.reads(FeatureKind::integers, packed_floats({1})));
  const Column floats = reals.finish(2);
  EXPECT_THAT(floats.values<float>(), ElementsAre(1, 2, 3));
  EXPECT_THAT(floats.row_splits(), ElementsAre(0, 2, 3));
}

TEST(UsualColumns, LargeValuesMayBeCopiedLater) {
  const std::string large(512, 'x');
  UsualColumn pixels({.name = "x", .dtype = DType::uint8, .shape = {512}});
  UsualColumn text({.name = "x", .dtype = DType::bytes, .kind = Column::Kind::bytes});
  for (UsualColumn* const column : {&pixels, &text}) {
    const std::string list = bytes_field(1, large);
    LateCopy late;
    EXPECT_TRUE(column->reads(FeatureKind::bytes, list, 0, &late));
    EXPECT_EQ(late.bytes(), 512U);
    EXPECT_EQ(late.from(), list.data() + 3);
    late.run();
  }
  EXPECT_THAT(pixels.finish(1).values<std::uint8_t>(), ::testing::Each('x'));
  EXPECT_EQ(text.finish(1), Column::of_bytes({large}));
}

/// Tells whether the first of two columns keeps the other's memory, too.
bool share_a_block(const ColumnSchema& schema, std::size_t rows) {
  const TensorPool pool;
  const ColumnParser parser = ColumnParser(schema).with_pool(pool);
  const Tensor kept = parser.finish(parser.begin(rows), rows).columns()[0].values();
  return pool.free_bytes() == 0;
}

TEST(SmallColumns, ShareABlockUpTo4096BytesEach) {
  const auto two = [](DType dtype, Shape shape) {
    return ColumnSchema().column("a", dtype, shape).column("b", dtype, shape);
  };
  EXPECT_TRUE(share_a_block(two(DType::int64, {}), 1));
  EXPECT_TRUE(share_a_block(two(DType::int64, {}), 512));
  EXPECT_FALSE(share_a_block(two(DType::int64, {}), 513));
  EXPECT_TRUE(share_a_block(two(DType::int8, {}), 4096));
  EXPECT_FALSE(share_a_block(two(DType::int8, {}), 4097));
  EXPECT_TRUE(share_a_block(two(DType::int8, {4096}), 1));
  EXPECT_FALSE(share_a_block(two(DType::int8, {4097}), 1));
}

/// Returns the bytes of memory that rows of these columns begin with.
std::size_t begun_bytes(const ColumnSchema& schema, std::size_t rows) {
  const auto memory = std::make_shared<test::CountingMemory>();
  const ColumnParser parser = ColumnParser(schema).with_pool(TensorPool({.memory = memory}));
  const ColumnRows begun = parser.begin(rows);
  return memory->held_bytes();
}

TEST(SmallColumns, TakeABlockWhereTheyAreTwo) {
  const auto one = ColumnSchema().column("a", DType::int8);
  EXPECT_EQ(begun_bytes(one, 1), 64U);
  EXPECT_EQ(begun_bytes(ColumnSchema(one).column("b", DType::int64, {600}), 1), 64U + 5120)
      << "the other one is large";
  EXPECT_EQ(begun_bytes(ColumnSchema(one).column("b", DType::int8), 1), 2U * (64 + 64))
      << "values and counts";
  EXPECT_EQ(begun_bytes(ColumnSchema(one).column("b", DType::int8).column("c", DType::int8), 1),
            3U * (64 + 64));
  const auto two = ColumnSchema(one).column("b", DType::int8);
  EXPECT_EQ(begun_bytes(two, 4097), 2U * 5120);
  const auto padded = ColumnSchema().padded("a", DType::int8, 3).padded("b", DType::int8, 3);
  EXPECT_EQ(begun_bytes(padded, 1), 4U * 64) << "values and lengths, each on their own";
}

TEST(SmallColumns, AreWholeCacheLines) {
  const ColumnParser parser(ColumnSchema().column("a", DType::int8).column("b", DType::int8));
  for (const auto& [rows, bytes] :
       std::vector<std::pair<std::size_t, std::ptrdiff_t>>{{1, 64}, {64, 64}, {65, 128}}) {
    const ColumnBatch batch = parser.finish(parser.begin(rows), rows);
    EXPECT_EQ(batch.column("b").values().data() - batch.column("a").values().data(), bytes);
  }
}

TEST(SmallColumns, BeginAtCacheLines) {
  const TensorPool pool;
  const ColumnParser parser = ColumnParser(ColumnSchema()
                                               .column("a", DType::int64)
                                               .column("b", DType::int64, {3})
                                               .column("c", DType::int8))
                                  .with_pool(pool);
  {
    const ColumnBatch batch = parser.finish(parser.begin(8), 8);
    const std::byte* const begin = batch.column("a").values().data();
    EXPECT_EQ(batch.column("b").values().data() - begin, 64);
    EXPECT_EQ(batch.column("c").values().data() - begin, 64 + 192);
  }
  EXPECT_EQ(pool.free_bytes(), 512U) << "five cache lines of values, and three of counts";
}

}  // namespace
}  // namespace infeed::detail
