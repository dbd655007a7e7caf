#include "infeed/records/column_parser.h"

#include <optional>
#include <set>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "infeed/records/example.h"
#include "infeed/records/record_reader.h"
#include "infeed/records/record_writer.h"
#include "records/columns/drawn_columns.h"
#include "records/columns/parse_all.h"
#include "records/temporary_files.h"
#include "thrown_error.h"

namespace infeed {
namespace {

using test::parse_all;

std::string example(const std::vector<std::int64_t>& tokens, const std::vector<std::string>& words,
                    std::int64_t label) {
  return ExampleBuilder()
      .integers("tokens", std::span<const std::int64_t>(tokens))
      .bytes("words", std::span<const std::string>(words))
      .bytes("image", std::string_view("\0\1\2\3\4\5", 6))
      .floats("score", 0.1F * static_cast<float>(label))
      .integers("label", label)
      .bytes("text", std::string(static_cast<std::size_t>(label), 'x'))
      .encode();
}

ColumnSchema all_kinds() {
  return ColumnSchema()
      .column("image", DType::uint8, {2, 3})
      .column("label", DType::int16)
      .column("score", DType::bfloat16)
      .ragged("tokens", DType::int32)
      .bytes("text")
      .ragged_bytes("words");
}

TEST(ColumnParser, every_kind_of_column) {
  const ColumnParser parser(all_kinds());
  EXPECT_FALSE(parser.has_fixed_rows());
  const ColumnBatch batch = parse_all(
      parser, {example({1, 2}, {}, 0), example({}, {"a", "bc"}, 2), example({3, 4, 5}, {""}, 3)});
  EXPECT_EQ(batch.rows(), 3);
  EXPECT_THAT(batch.names(), ElementsAre("image", "label", "score", "tokens", "text", "words"));
  EXPECT_EQ(batch.column("image").values().shape(), Shape({3, 2, 3}));
  EXPECT_THAT(batch.column("image").values<std::uint8_t>().subspan(6, 6),
              ElementsAre(0, 1, 2, 3, 4, 5));
  EXPECT_THAT(batch.column("label").values<std::int16_t>(), ElementsAre(0, 2, 3));
  EXPECT_EQ(batch.column("score").values<bfloat16>()[1], bfloat16(0.2F));
  EXPECT_THAT(batch.column("tokens").values<std::int32_t>(), ElementsAre(1, 2, 3, 4, 5));
  EXPECT_THAT(batch.column("tokens").row_splits(), ElementsAre(0, 2, 2, 5));
  EXPECT_EQ(batch.column("text").bytes(2), "xxx");
  EXPECT_THAT(batch.column("words").row_splits(), ElementsAre(0, 0, 2, 3));
  EXPECT_EQ(batch.column("words").bytes(1), "bc");
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(batch.column("text").values().data()) % 64, 0U);
}

TEST(ColumnParser, padded_to_the_longest_or_to_a_width) {
  const auto padded = [](std::optional<std::int64_t> width) {
    return ColumnParser(ColumnSchema().padded("tokens", DType::int32, width, -1));
  };
  const std::vector<std::string> records = {example({1, 2}, {}, 0), example({}, {}, 0),
                                            example({3}, {}, 0)};
  const Column longest = parse_all(padded(std::nullopt), records).column("tokens");
  EXPECT_FALSE(padded(std::nullopt).has_fixed_rows());
  EXPECT_EQ(longest.width(), 2);
  EXPECT_THAT(longest.values<std::int32_t>(), ElementsAre(1, 2, -1, -1, 3, -1));
  EXPECT_THAT(longest.lengths(), ElementsAre(2, 0, 1));
  EXPECT_TRUE(padded(3).has_fixed_rows());
  const Column fixed = parse_all(padded(3), records).column("tokens");
  EXPECT_THAT(fixed.values<std::int32_t>(), ElementsAre(1, 2, -1, -1, -1, -1, 3, -1, -1));
  EXPECT_THAT(fixed.lengths(), ElementsAre(2, 0, 1));
  const Column empty = parse_all(padded(std::nullopt), {records[1], records[1]}).column("tokens");
  EXPECT_EQ(empty.values().shape(), Shape({2, 0}));
  const Column nothing = parse_all(padded(0), {records[1]}).column("tokens");
  EXPECT_EQ(nothing.values().shape(), Shape({1, 0}));
  EXPECT_NE(nothing.values().data(), nullptr);
  EXPECT_NE(parse_all(padded(3), {}).column("tokens").lengths().data(), nullptr);
  const Error error = error_of([&] { parse_all(padded(1), records); });
  EXPECT_EQ(error.code(), ErrorCode::data_loss);
  EXPECT_EQ(error.message(),
            "feature 'tokens' has 2 values, but is to be padded to 1; cut it, or make the width "
            "larger");
}

TEST(ColumnParser, items_with_a_shape) {
  const ColumnParser parser(
      ColumnSchema().ragged("tokens", DType::int64, {2}).padded("image", DType::uint8, 8));
  const ColumnBatch batch = parse_all(parser, {example({1, 2, 3, 4}, {}, 0), example({}, {}, 0)});
  EXPECT_EQ(batch.column("tokens").values().shape(), Shape({2, 2}));
  EXPECT_THAT(batch.column("tokens").row_splits(), ElementsAre(0, 2, 2));
  EXPECT_THAT(batch.column("image").lengths(), ElementsAre(6, 6));
  EXPECT_EQ(error_of([&] {
              parse_all(parser, {example({1, 2, 3}, {}, 0)});
            }).message(),
            "feature 'tokens' holds 3 values, which is no multiple of the 2 of a row");
}

TEST(ColumnParser, defaults_stand_in_for_what_is_missing_or_empty) {
  const auto parser = ColumnParser(ColumnSchema()
                                       .column("label", DType::int64, {2})
                                       .if_missing(std::vector<std::int64_t>{-1})
                                       .column("pair", DType::float16, {2})
                                       .if_missing(std::vector<double>{0.5, 1.5})
                                       .bytes("text")
                                       .if_missing(std::vector<std::string>{"none"})
                                       .ragged("tokens", DType::uint8)
                                       .if_missing(std::vector<std::int64_t>{1, 2})
                                       .padded("ids", DType::int8, 3, 9)
                                       .if_missing(std::vector<std::int64_t>{4})
                                       .ragged_bytes("words")
                                       .if_missing(std::vector<std::string>{"x", "y"}));
  const std::string empty = ExampleBuilder()
                                .integers("label", std::span<const std::int64_t>())
                                .bytes("words", std::span<const std::string>())
                                .encode();
  for (const std::string& record : {std::string(), empty}) {
    const ColumnBatch batch = parse_all(parser, {record});
    EXPECT_THAT(batch.column("label").values<std::int64_t>(), ElementsAre(-1, -1));
    EXPECT_THAT(batch.column("pair").values<float16>(), ElementsAre(float16(0.5F), float16(1.5F)));
    EXPECT_EQ(batch.column("text").bytes(0), "none");
    EXPECT_THAT(batch.column("tokens").values<std::uint8_t>(), ElementsAre(1, 2));
    EXPECT_THAT(batch.column("ids").values<std::int8_t>(), ElementsAre(4, 9, 9));
    EXPECT_THAT(batch.column("ids").lengths(), ElementsAre(1));
    EXPECT_EQ(batch.column("words").bytes(1), "y");
  }
  EXPECT_TRUE(parser.expected().empty());
  EXPECT_THAT(ColumnParser(all_kinds()).expected().features, ElementsAre("tokens", "words"));
}

TEST(ColumnParser, an_error_leaves_the_rows_before_it) {
  const ColumnParser parser(all_kinds().column("last", DType::int64));
  ColumnRows rows = parser.begin(4);
  const auto with_last = [](const std::string& record) {
    return record + ExampleBuilder().integers("last", 1).encode();
  };
  parser.parse_row(with_last(example({1, 2}, {"a"}, 1)), nullptr, 0, rows);
  const Error missing =
      error_of([&] { parser.parse_row(example({3}, {"b"}, 2), nullptr, 1, rows); });
  EXPECT_EQ(missing.message(),
            "feature 'last' is required but could not be found; the record has 'image' (bytes), "
            "'label' (integers), 'score' (floats), 'text' (bytes), 'tokens' (integers), 'words' "
            "(bytes)");
  EXPECT_EQ(error_of([&] { parser.parse_row("\x08", nullptr, 1, rows); }).code(),
            ErrorCode::data_loss);
  parser.parse_row(with_last(example({}, {"c", "d"}, 3)), nullptr, 1, rows);
  const ColumnBatch batch = parser.finish(std::move(rows), 2);
  EXPECT_THAT(batch.column("tokens").row_splits(), ElementsAre(0, 2, 2));
  EXPECT_THAT(batch.column("label").values<std::int16_t>(), ElementsAre(1, 3));
  EXPECT_EQ(batch.column("words").bytes(1), "c");
  EXPECT_EQ(batch.column("text").bytes(1), "xxx");
}

TEST(ColumnParser, errors_name_the_place) {
  TemporaryFolder folder;
  const std::string file = folder.file("a.tfrecord");
  RecordWriter writer(file);
  writer.write(example({1}, {}, 1));
  writer.write(example({1LL << 40}, {}, 1));
  writer.close();
  RecordReader reader(file);
  std::vector<Record> records(2);
  ASSERT_EQ(reader.read(records), 2U);
  const ColumnParser parser(all_kinds());
  ColumnRows rows = parser.begin(2);
  parser.parse_row(records[0].bytes(), &records[0], 0, rows);
  const Error error = error_of([&] { parser.parse_row(records[1].bytes(), &records[1], 1, rows); });
  EXPECT_EQ(error.code(), ErrorCode::invalid_argument);
  EXPECT_EQ(error.message(),
            "feature 'tokens' holds 1099511627776, which is not in the wanted range -2147483648 "
            "to 2147483647");
  EXPECT_EQ(error.file(), file);
  EXPECT_EQ(error.record(), 1U);
  EXPECT_EQ(error.offset(), records[1].offset());
}

TEST(ColumnParser, rows_come_in_order) {
  const ColumnParser parser(all_kinds());
  const std::string record = example({1}, {}, 1);
  ColumnRows rows = parser.begin(2);
  EXPECT_EQ(rows.rows_max(), 2U);
  EXPECT_GT(rows.memory_bytes(), 0U);
  EXPECT_EQ(error_of([&] { parser.parse_row(record, nullptr, 1, rows); }).message(),
            "row 1 can't be parsed: rows are appended, and the next one is 0");
  EXPECT_EQ(error_of([&] { parser.parse_row(record, nullptr, 2, rows); }).message(),
            "row 2 can't be parsed: there are at most 2 rows");
  const ColumnParser other(all_kinds());
  EXPECT_EQ(error_of([&] { other.parse_row(record, nullptr, 0, rows); }).message(),
            "row 0 can't be parsed: the rows were begun by another parser");
  parser.parse_row(record, nullptr, 0, rows);
  EXPECT_EQ(error_of([&] { parser.finish(std::move(rows), 2); }).message(),
            "a batch of 2 rows can't be made: there are 1");
  parser.parse_row(record, nullptr, 1, rows);
  rows.truncate(1);
  parser.parse_row(example({5, 6}, {}, 1), nullptr, 1, rows);
  EXPECT_THAT(parser.finish(std::move(rows), 2).column("tokens").row_splits(),
              ElementsAre(0, 1, 3));
  EXPECT_EQ(error_of([&] { parser.finish(std::move(rows), 0); }).message(),
            "a batch of 0 rows can't be made: they were begun by another parser");
  EXPECT_EQ(parser.finish(parser.begin(10), 0).rows(), 0);
  const ColumnParser fixed(ColumnSchema().column("label", DType::int64));
  EXPECT_EQ(fixed.finish(fixed.begin(2), 2).rows(), 2);
  EXPECT_EQ(error_of([&] { fixed.finish(fixed.begin(2), 3); }).message(),
            "a batch of 3 rows can't be made: there are 2");
}

TEST(ColumnParser, what_rows_need_is_counted_beside_what_is_to_spare) {
  const ColumnParser parser(ColumnSchema().padded("tokens", DType::int64).ragged_bytes("words"));
  const auto needed = [](const ColumnRows& rows) {
    return rows.memory_bytes() - rows.spare_bytes();
  };
  const std::string small = example({1}, {"a"}, 1);
  const std::string large =
      example(std::vector<std::int64_t>(1000, 7), {std::string(5000, 'w')}, 1);
  std::vector<std::size_t> small_bytes;
  for (const std::string& last : {small, large, small}) {
    ColumnRows rows = parser.begin(2);
    parser.parse_row(small, nullptr, 0, rows);
    small_bytes.push_back(needed(rows));
    parser.parse_row(last, nullptr, 1, rows);
    if (last == large) {
      EXPECT_GE(needed(rows), 1001U * 8 + 2 * 1000 * 8 + 5001);  // the matrix has both rows
    }
    parser.finish(std::move(rows), 2);
  }
  EXPECT_THAT(small_bytes, ElementsAre(small_bytes[0], small_bytes[0], small_bytes[0]));
}

TEST(ColumnParser, rows_that_were_taken_back_need_no_padding) {
  const ColumnParser parser(ColumnSchema().padded("tokens", DType::int64));
  const auto row_of = [](std::size_t values) {
    return example(std::vector<std::int64_t>(values, 7), {}, 1);
  };
  ColumnRows rows = parser.begin(3);
  parser.parse_row(row_of(2), nullptr, 0, rows);
  parser.parse_row(row_of(100), nullptr, 1, rows);
  const std::size_t long_bytes = rows.memory_bytes() - rows.spare_bytes();
  EXPECT_EQ(long_bytes, 102U * 8 + 3 * 8 + 2 * (100 + 1) * 8) << "values, splits, the matrix";
  rows.truncate(1);
  parser.parse_row(row_of(3), nullptr, 1, rows);
  parser.parse_row(row_of(1), nullptr, 2, rows);
  EXPECT_EQ(rows.memory_bytes() - rows.spare_bytes(), 6U * 8 + 4 * 8 + 3 * (3 + 1) * 8);
}

TEST(ColumnParser, schemas_that_examples_can_not_fill) {
  const auto message = [](ColumnSchema schema) {
    return error_of([&] { const ColumnParser parser(std::move(schema)); }).message();
  };
  const ColumnType cut{.name = "x",
                       .dtype = DType::int8,
                       .kind = Column::Kind::ragged,
                       .ragged_levels = 2,
                       .partition = RowLengths{"y"}};
  ColumnType deep = cut;
  deep.partition = std::nullopt;
  EXPECT_EQ(message(ColumnSchema().add(deep)),
            "column 'x' has 2 ragged levels, but a feature of an Example has one, or two with "
            "another feature that cuts its values (row_lengths or row_splits)");
  deep.ragged_levels = 3;
  EXPECT_EQ(message(ColumnSchema().add(deep)),
            "column 'x' has 3 ragged levels, but a feature of an Example has one, or two with "
            "another feature that cuts its values (row_lengths or row_splits)");
  ColumnType self = cut;
  self.partition = RowSplits{"x"};
  EXPECT_EQ(message(ColumnSchema().add(self)),
            "column 'x' is to be cut by itself; name the feature that has its row_lengths or "
            "row_splits");
}

TEST(ColumnParser, batches_return_their_memory_to_the_next_ones) {
  const ColumnParser parser(all_kinds());
  // With so many records the small columns' block is the only one of its size.
  const std::vector<std::string> records(5, example({1, 2, 3}, {"a", "b"}, 5));
  const auto places = [&] {
    const ColumnBatch batch = parse_all(parser, records);
    std::set<const void*> all;
    for (const Column& column : batch.columns()) {
      all.insert(column.values().data());
      for (const Tensor& part : column.partitions()) all.insert(part.data());
    }
    return all;
  };
  places();  // its columns grow; later batches have large enough ones from the start
  const auto second = places();
  EXPECT_EQ(second.size(), 6U + 4U);
  EXPECT_EQ(places(), second);
}

TEST(ColumnParser, a_batch_outlives_its_parser) {
  ColumnBatch batch;
  {
    const ColumnParser parser(all_kinds());
    batch = parse_all(parser, {example({1, 2}, {"a"}, 1)});
  }
  EXPECT_THAT(batch.column("tokens").values<std::int32_t>(), ElementsAre(1, 2));
}

/// Names are read at run time: many columns cost no compilation.
TEST(ColumnParser, hundreds_of_columns_of_records_with_thousands_of_features) {
  ColumnSchema schema;
  for (int i = 0; i < 10'000; i += 33) {
    const std::string name = "feature_" + std::to_string(i);
    switch (i % 4) {
      case 0:
        schema.column(name, DType::int64);
        break;
      case 1:
        schema.ragged(name, DType::int32);
        break;
      case 2:
        schema.padded(name, DType::uint16, 2, 7);
        break;
      default:
        schema.column(name, DType::float32).if_missing(std::vector<double>{0.5});
        break;
    }
  }
  ASSERT_GE(schema.size(), 300U);
  const ColumnParser parser(ColumnSchema::from_json(schema.to_json()));
  ColumnRows rows = parser.begin(3);
  for (std::size_t row = 0; row < 3; ++row) {
    ExampleBuilder builder;
    for (int i = 0; i < 10'000; ++i) {
      if (i % 4 != 3) builder.integers("feature_" + std::to_string(i), i + 1);
    }
    parser.parse_row(builder.encode(), nullptr, row, rows);
  }
  const ColumnBatch batch = parser.finish(std::move(rows), 3);
  EXPECT_EQ(batch.columns().size(), schema.size());
  EXPECT_THAT(batch.column("feature_132").values<std::int64_t>(), ElementsAre(133, 133, 133));
  EXPECT_THAT(batch.column("feature_33").values<std::int32_t>(), ElementsAre(34, 34, 34));
  EXPECT_THAT(batch.column("feature_66").values<std::uint16_t>(), ElementsAre(67, 7, 67, 7, 67, 7));
  EXPECT_THAT(batch.column("feature_99").values<float>(), ElementsAre(0.5F, 0.5F, 0.5F));
}

TEST(ColumnParser, threads_fill_the_rows_of_one_batch) {
  const ColumnParser parser(ColumnSchema()
                                .column("image", DType::uint8, {2, 3})
                                .column("label", DType::int64)
                                .padded("tokens", DType::int32, 4, -1));
  ASSERT_TRUE(parser.has_fixed_rows());
  constexpr std::size_t kRows = 400;
  ColumnRows rows = parser.begin(kRows);
  std::vector<std::thread> threads;
  for (std::size_t thread = 0; thread < 4; ++thread) {
    threads.emplace_back([&, thread] {
      for (std::size_t row = thread; row < kRows; row += 4) {
        const auto number = static_cast<std::int64_t>(row);
        if (row % 7 == 0) {
          EXPECT_THROW(parser.parse_row("", nullptr, row, rows), Error);
        }
        parser.parse_row(example({number, 1}, {}, number), nullptr, row, rows);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  const ColumnBatch batch = parser.finish(std::move(rows), kRows);
  for (std::size_t row = 0; row < kRows; ++row) {
    ASSERT_EQ(batch.column("label").values<std::int64_t>()[row], static_cast<std::int64_t>(row));
    ASSERT_EQ(batch.column("tokens").values<std::int32_t>()[4 * row], static_cast<int>(row));
    ASSERT_EQ(batch.column("tokens").values<std::int32_t>()[4 * row + 3], -1);
  }
}

}  // namespace
}  // namespace infeed
