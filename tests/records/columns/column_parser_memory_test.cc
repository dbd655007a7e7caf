#include <memory>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "counting_memory.h"
#include "infeed/records/column_parser.h"
#include "infeed/records/example.h"
#include "records/columns/failing_memory.h"
#include "sanitizers.h"
#include "thrown_error.h"

namespace infeed {
namespace {

// They lie in one block, which must not be noticed.
TEST(ColumnParser, small_columns_are_each_on_their_own) {
  const ColumnParser parser(ColumnSchema()
                                .column("a", DType::float32)
                                .column("none", DType::float32, {0})
                                .column("b", DType::int64)
                                .column("large", DType::int64, {600})
                                .column("c", DType::uint8, {3}));
  const auto record = [](std::int64_t row) {
    ExampleBuilder builder;
    builder.floats("a", static_cast<float>(row));
    builder.floats("none", std::span<const float>());
    builder.integers("b", 10 * row);
    const std::vector<std::int64_t> large(600, row);
    builder.integers("large", std::span<const std::int64_t>(large));
    builder.bytes("c", std::string(3, static_cast<char>(row)));
    return builder.encode();
  };
  std::optional<Tensor> kept;
  std::weak_ptr<const void> seen;
  for (int round = 0; round < 3; ++round) {
    ColumnRows rows = parser.begin(3);
    for (std::int64_t row = 0; row < 3; ++row) {
      parser.parse_row(record(row + round), nullptr, static_cast<std::size_t>(row), rows);
    }
    ColumnBatch batch = parser.finish(std::move(rows), 3);
    for (const Column& column : batch.columns()) {
      EXPECT_TRUE(column.values().is_writable());
      EXPECT_EQ(reinterpret_cast<std::uintptr_t>(column.values().data()) % 64, 0U);
    }
    EXPECT_THAT(batch.column("a").values<float>(), ElementsAre(round, round + 1, round + 2));
    EXPECT_THAT(batch.column("b").values<std::int64_t>(),
                ElementsAre(10 * round, 10 * round + 10, 10 * round + 20));
    EXPECT_THAT(batch.column("c").values<std::uint8_t>(), Contains(round).Times(3));
    if (round == 0) kept = batch.column("b").values();
    if (round == 1) seen = batch.column("a").values().owner();
  }
  EXPECT_TRUE(seen.expired());                                        // its count lies in the block
  EXPECT_THAT(kept->values<std::int64_t>(), ElementsAre(0, 10, 20));  // the others are gone
  EXPECT_TRUE(kept->is_writable());
}

/// A column begins with as much memory as the last one had, or as its values may need.
TEST(ColumnParser, small_columns_keep_no_large_block) {
  const TensorPool pool;
  const ColumnParser parser =
      ColumnParser(ColumnSchema().ragged("tokens", DType::int64)).with_pool(pool);
  const auto parsed = [&parser](std::size_t count) {
    const std::vector<std::int64_t> tokens(count, 7);
    ColumnRows rows = parser.begin(1);
    parser.parse_row(
        ExampleBuilder().integers("tokens", std::span<const std::int64_t>(tokens)).encode(),
        nullptr, 0, rows);
    return parser.finish(std::move(rows), 1);
  };
  const ColumnBatch large = parsed(100'000);
  const ColumnBatch small = parsed(3);
  EXPECT_GE(pool.free_bytes(), 800'000U) << "the block that the small one was begun in";
  EXPECT_THAT(small.column("tokens").values<std::int64_t>(), ElementsAre(7, 7, 7));
  EXPECT_EQ(large.column("tokens").values<std::int64_t>().size(), 100'000U);
}

/// Lets no memory lie free.
class NothingFree final : public FreeMemoryAccount {
 public:
  bool try_keep(std::size_t) noexcept override { return false; }
  void let_go(std::size_t) noexcept override {}
};

/// A column that outgrows its block gets one of twice the size.
TEST(ColumnParser, uneven_batches_keep_little_more_than_is_counted) {
  const auto memory = std::make_shared<test::CountingMemory>();
  const ColumnParser parser =
      ColumnParser(ColumnSchema().ragged("tokens", DType::int64))
          .with_pool(TensorPool({.account = std::make_shared<NothingFree>(), .memory = memory}));
  std::vector<ColumnBatch> kept;
  std::size_t counted_bytes = 0;
  for (const std::size_t count : {100, 130, 170, 220, 290, 380, 500, 400, 300}) {
    const std::vector<std::int64_t> tokens(count, static_cast<std::int64_t>(count));
    ColumnRows rows = parser.begin(1);
    parser.parse_row(
        ExampleBuilder().integers("tokens", std::span<const std::int64_t>(tokens)).encode(),
        nullptr, 0, rows);
    kept.push_back(parser.finish(std::move(rows), 1));
    const Column& column = kept.back().column("tokens");
    EXPECT_EQ(std::vector<std::int64_t>(column.values<std::int64_t>().begin(),
                                        column.values<std::int64_t>().end()),
              tokens);
    counted_bytes += TensorPool::block_bytes(column.values().bytes()) +
                     TensorPool::block_bytes(column.partitions()[0].bytes());
  }
  EXPECT_LE(memory->held_bytes(), counted_bytes + counted_bytes / 4);
}

/// Saving memory mustn't fail for the lack of it, say at the last batch of a run.
TEST(ColumnParser, a_short_batch_stays_where_it_is_if_there_is_no_smaller_block) {
  const auto memory = std::make_shared<test::CountingMemory>(7168);
  const ColumnParser parser = ColumnParser(ColumnSchema().column("x", DType::int64, {8}))
                                  .with_pool(TensorPool({.memory = memory}));
  const std::vector<std::int64_t> x = {1, 2, 3, 4, 5, 6, 7, 8};
  ColumnRows rows = parser.begin(100);
  ASSERT_EQ(memory->held_bytes(), 7168U) << "all that it has";
  parser.parse_row(ExampleBuilder().integers("x", std::span<const std::int64_t>(x)).encode(),
                   nullptr, 0, rows);
  const ColumnBatch batch = parser.finish(std::move(rows), 1);
  EXPECT_THAT(batch.column("x").values<std::int64_t>(), ElementsAre(1, 2, 3, 4, 5, 6, 7, 8));
  EXPECT_EQ(memory->held_bytes(), 7168U);
}

/// It stayed where it was, whatever the memory said.
TEST(ColumnParser, a_short_batch_hands_on_what_its_memory_throws) {
  bool is_lost = false;
  const auto memory = std::make_shared<test::FailingMemory>([&is_lost](std::size_t) {
    if (is_lost) throw std::runtime_error("the device is lost");
  });
  const ColumnParser parser = ColumnParser(ColumnSchema().column("x", DType::int64, {8}))
                                  .with_pool(TensorPool({.memory = memory}));
  const std::vector<std::int64_t> x(8);
  ColumnRows rows = parser.begin(100);
  parser.parse_row(ExampleBuilder().integers("x", std::span<const std::int64_t>(x)).encode(),
                   nullptr, 0, rows);
  is_lost = true;
  try {
    parser.finish(std::move(rows), 1);
    ADD_FAILURE() << "nothing was thrown";
  } catch (const std::runtime_error& error) {
    EXPECT_STREQ(error.what(), "the device is lost");
  }
}

/// Schemas come from people: what they ask for must not become memory that wraps around.
TEST(ColumnParser, rows_larger_than_any_memory) {
  const std::int64_t huge = std::int64_t{1} << 60;
  EXPECT_EQ(error_of([&] {
              const ColumnParser parser(ColumnSchema().column("x", DType::int64, {huge}));
            }).code(),
            ErrorCode::resource_exhausted);
  const ColumnParser parser(ColumnSchema().column("x", DType::int64, {huge / 16}));
  EXPECT_EQ(error_of([&] { parser.begin(1 << 10); }).message(),
            "the shape [1024, 72057594037927936] has more items than 64 bits count");
  EXPECT_EQ(error_of([&] { parser.begin(16); }).code(), ErrorCode::resource_exhausted);
  if (test::kAddressSanitizer || test::kThreadSanitizer) return;  // they end the program
  EXPECT_EQ(error_of([&] { parser.begin(1); }).message(),
            "there is no memory for a tensor of 576460752303423488 bytes; make the batch smaller");
}

/// Rows that were refused leave gaps in a batch whose rows have places.
TEST(ColumnParser, rows_close_their_gaps) {
  const ColumnParser parser(ColumnSchema()
                                .column("pair", DType::int32, {2})
                                .padded("tokens", DType::int16, 3, -1)
                                .column("none", DType::float32, {0}));
  ASSERT_TRUE(parser.has_fixed_rows());
  const auto batch_without = [&](const std::vector<std::size_t>& gaps) {
    ColumnRows rows = parser.begin(6);
    for (std::size_t row = 0; row < 5; ++row) {
      const auto number = static_cast<std::int64_t>(row);
      const std::vector<std::int64_t> pair = {number, 10 * number};
      const std::vector<std::int64_t> tokens(row % 3, number);
      const std::string record = ExampleBuilder()
                                     .integers("pair", std::span<const std::int64_t>(pair))
                                     .integers("tokens", std::span<const std::int64_t>(tokens))
                                     .floats("none", std::span<const float>())
                                     .encode();
      parser.parse_row(record, nullptr, row, rows);
    }
    rows.close_gaps(5, gaps);
    return parser.finish(std::move(rows), 5 - gaps.size());
  };
  const ColumnBatch every_other = batch_without({1, 3});
  EXPECT_THAT(every_other.column("pair").values<std::int32_t>(), ElementsAre(0, 0, 2, 20, 4, 40));
  EXPECT_THAT(every_other.column("tokens").values<std::int16_t>(),
              ElementsAre(-1, -1, -1, 2, 2, -1, 4, -1, -1));
  EXPECT_THAT(every_other.column("tokens").lengths(), ElementsAre(0, 2, 1));
  EXPECT_EQ(every_other.column("none").values().shape(), Shape({3, 0}));
  const ColumnBatch middle = batch_without({0, 1, 4});
  EXPECT_THAT(middle.column("pair").values<std::int32_t>(), ElementsAre(2, 20, 3, 30));
  EXPECT_THAT(middle.column("tokens").lengths(), ElementsAre(2, 0));
  EXPECT_THAT(batch_without({}).column("pair").values<std::int32_t>(),
              ElementsAre(0, 0, 1, 10, 2, 20, 3, 30, 4, 40));
  EXPECT_EQ(batch_without({0, 1, 2, 3, 4}).rows(), 0);
}

TEST(ColumnParser, rows_take_at_least_what_is_known_of_them) {
  const auto pair = ColumnSchema().column("pair", DType::int32, {2});
  EXPECT_EQ(ColumnParser(pair).row_bytes_min(), 8U);
  const auto padded = ColumnSchema().padded("tokens", DType::int16, 3);
  EXPECT_EQ(ColumnParser(padded).row_bytes_min(), 6U + 8U) << "values and a length";
  for (const auto& growing :
       {ColumnSchema().ragged("x", DType::int32), ColumnSchema().padded("x", DType::int32),
        ColumnSchema().bytes("x"), ColumnSchema().ragged_bytes("x")}) {
    EXPECT_EQ(ColumnParser(growing).row_bytes_min(), 8U) << "the splits alone";
  }
  EXPECT_EQ(
      ColumnParser(ColumnSchema(pair).padded("y", DType::int16, 3).bytes("z")).row_bytes_min(),
      8U + 14U + 8U);
  EXPECT_EQ(ColumnParser(ColumnSchema()).row_bytes_min(), 0U);
}

/// Rows begin with the memory of the last ones and a sixteenth, in whole blocks.
TEST(ColumnParser, rows_begin_with_a_little_more_than_the_last_ones_had) {
  const auto begun_behind = [](const ColumnSchema& schema, const ExampleBuilder& record) {
    const ColumnParser parser(schema);
    ColumnRows rows = parser.begin(1);
    parser.parse_row(record.encode(), nullptr, 0, rows);
    parser.finish(std::move(rows), 1);
    return parser.begin(1).memory_bytes();
  };
  const std::vector<std::int64_t> numbers(4825, 7);  // 38,600 bytes, and 2,412
  ExampleBuilder integers;
  integers.integers("x", std::span<const std::int64_t>(numbers));
  EXPECT_EQ(begun_behind(ColumnSchema().ragged("x", DType::int64), integers), 49'152U + 64);
  const std::vector<std::string> texts(4824, "t");  // 4,824 bytes and 301; 4,825 offsets
  ExampleBuilder bytes;
  bytes.bytes("x", std::span<const std::string>(texts));
  EXPECT_EQ(begun_behind(ColumnSchema().ragged_bytes("x"), bytes), 6144U + 64 + 49'152);
}

TEST(ColumnParser, splits_begin_with_one_more_than_rows) {
  const ColumnParser parser(ColumnSchema().ragged("x", DType::int64));
  EXPECT_EQ(parser.begin(7).memory_bytes(), 64U + 64);
  EXPECT_EQ(parser.begin(8).memory_bytes(), 64U + 128);
}

TEST(ColumnParser, memory_of_rows_is_that_of_their_values_and_their_padding) {
  const auto needed = [](const ColumnSchema& schema, const std::vector<std::size_t>& lengths) {
    const ColumnParser parser(schema);
    ColumnRows rows = parser.begin(lengths.size());
    for (std::size_t row = 0; row < lengths.size(); ++row) {
      const std::vector<std::int64_t> tokens(lengths[row], 7);
      const std::string record =
          ExampleBuilder().integers("x", std::span<const std::int64_t>(tokens)).encode();
      parser.parse_row(record, nullptr, row, rows);
    }
    return rows.memory_bytes() - rows.spare_bytes();
  };
  const auto ragged = ColumnSchema().ragged("x", DType::int64);
  EXPECT_EQ(needed(ragged, {3, 1}), 4U * 8 + 3 * 8);
  const auto padded = ColumnSchema().padded("x", DType::int64);
  EXPECT_EQ(needed(padded, {3, 1}), 4U * 8 + 3 * 8 + 2 * (3 * 8 + 8)) << "a matrix and lengths";
  EXPECT_EQ(needed(padded, {1, 3}), 4U * 8 + 3 * 8 + 2 * (3 * 8 + 8));
  EXPECT_EQ(needed(padded, {2}), 2U * 8 + 2 * 8 + (2 * 8 + 8));
  const auto fixed = ColumnSchema().padded("x", DType::int16, 3);
  EXPECT_EQ(needed(fixed, {3, 1}), 2U * 3 * 2 + 2 * 8) << "which is padded already";
}

}  // namespace
}  // namespace infeed
