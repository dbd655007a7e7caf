#include <cstdint>
#include <string>
#include <vector>

#include <infeed/infeed.h>
#include <infeed/records/record_writer.h>
#include <infeed/records/sequence_example.h>

#include "pipeline/suite/stage_suite.h"
#include "records/temporary_files.h"
#include "thrown_error.h"

namespace infeed::test {
namespace {

class ParseColumns : public ::testing::Test {
 protected:
  /// Record i has the id i, i % 4 tokens and a text; every `without_id`-th has no id.
  void write(std::int64_t count, std::int64_t without_id = 0) {
    RecordWriter writer(file_, {.existing = ExistingFile::replace});
    for (std::int64_t i = 0; i < count; ++i) {
      ExampleBuilder builder;
      const std::vector<std::int64_t> tokens(static_cast<std::size_t>(i % 4), i);
      builder.integers("tokens", std::span<const std::int64_t>(tokens));
      builder.bytes("text", "text " + std::to_string(i));
      if (without_id == 0 || i % without_id != 1) builder.integers("id", i);
      writer.write(builder.encode());
    }
    writer.close();
  }

  const TemporaryFolder folder_;
  const std::string file_ = folder_.file("data.tfrecord");
};

TEST_F(ParseColumns, FillsColumnsOfEveryKind) {
  write(10);
  const auto schema =
      ColumnSchema().column("id", DType::int32).ragged("tokens", DType::int64).bytes("text");
  for (const std::int64_t parallelism : {1, 2}) {
    auto iterator =
        (records(file_) | parse_columns(schema, 4, {.parallelism = parallelism})).iterate();
    iterator.next();
    const auto second = iterator.next();
    ASSERT_TRUE(second);
    EXPECT_EQ(second->rows(), 4);
    EXPECT_THAT(second->column("id").values<std::int32_t>(), ElementsAre(4, 5, 6, 7));
    EXPECT_THAT(second->column("tokens").values<std::int64_t>(), ElementsAre(5, 6, 6, 7, 7, 7));
    EXPECT_THAT(second->column("tokens").row_splits(0), ElementsAre(0, 0, 1, 3, 6));
    EXPECT_EQ(second->column("text").bytes(3), "text 7");
    EXPECT_EQ(iterator.next()->rows(), 2);
    EXPECT_FALSE(iterator.next());
  }
}

TEST_F(ParseColumns, RowsThatFailAreLeftOut) {
  write(9, 3);
  // With places for rows, and without.
  for (const bool has_text : {false, true}) {
    ColumnSchema schema;
    schema.column("id", DType::int64);
    if (has_text) schema.bytes("text");
    auto iterator = (records(file_) | parse_columns(schema, 9, {.parallelism = 2})).iterate();
    const Error error = error_of([&] { iterator.next(); });
    EXPECT_THAT(std::string(error.message()), HasSubstr("3 of 9 rows of a batch failed"));
    EXPECT_EQ(error.record(), 1U);
    const auto batch = iterator.next();
    ASSERT_TRUE(batch);
    EXPECT_THAT(batch->column("id").values<std::int64_t>(), ElementsAre(0, 2, 3, 5, 6, 8));
    if (has_text) {
      EXPECT_EQ(batch->column("text").bytes(1), "text 2");
    }
  }
}

TEST_F(ParseColumns, AColumnThatNoRecordHasIsAnError) {
  write(5);
  const auto schema = ColumnSchema().ragged("tokns", DType::int64);
  auto iterator = (records(file_) | parse_columns(schema, 2)).iterate();
  const Error error = error_of([&] {
    while (iterator.next()) {
    }
  });
  EXPECT_THAT(std::string(error.message()), HasSubstr("did you mean 'tokens'?"));
}

TEST_F(ParseColumns, AnUnknownColumnListsTheKnownOnes) {
  write(1);
  auto iterator = (records(file_) | parse_columns(ColumnSchema().bytes("text"), 1)).iterate();
  const auto batch = iterator.next();
  EXPECT_THAT(std::string(error_of([&] { batch->column("txt"); }).message()), HasSubstr("'text'"));
}

/// JSON, in which a signature holds the schema, has no other texts than UTF-8.
TEST_F(ParseColumns, NamesAndDefaultsMayBeAnyBytes) {
  write(2);
  const auto schema = [](const char* byte) {
    return ColumnSchema().bytes(byte).if_missing(std::vector<std::string>{"\xff"});
  };
  EXPECT_EQ(
      (records(file_) | parse_columns(schema("\xfe"), 2)).collect().front().column("\xfe").bytes(1),
      "\xff");
  EXPECT_NE(detail::schema_signature(schema("\xfe")), detail::schema_signature(schema("\xfd")));
}

TEST_F(ParseColumns, PassesTheSuite) {
  write(50, 7);
  const auto ids = [](const ColumnBatch& batch) {
    const auto values = batch.column("id").values<std::int64_t>();
    return std::vector<std::int64_t>(values.begin(), values.end());
  };
  for (const bool has_text : {false, true}) {
    ColumnSchema schema;
    schema.column("id", DType::int64);
    if (has_text) schema.bytes("text").ragged("tokens", DType::int64);
    const auto make = [&](std::int64_t parallelism) {
      return records(file_, {.block_bytes = 4096}) |
             parse_columns(schema, 6, {.parallelism = parallelism}) | map(ids);
    };
    const Stream expected = stream_of(make(1));
    ASSERT_GT(expected.size(), 10U);
    for (const std::int64_t parallelism : {1, 3}) {
      run_source_suite([&] { return make(parallelism); }, expected);
    }
  }
}

/// Some lack the list of ids, which is an error, or have more tokens than the others.
TEST_F(ParseColumns, OfSequenceExamplesPassesTheSuite) {
  RecordWriter writer(file_);
  for (std::int64_t i = 0; i < 50; ++i) {
    SequenceExampleBuilder builder;
    builder.context().integers("number", i);
    if (i % 7 != 1) builder.list("ids").integers(i).integers(i + 100);
    FeatureListBuilder& tokens = builder.list("tokens");
    for (std::int64_t k = 0; k < i % 4; ++k) {
      tokens.integers(std::vector<std::int64_t>(static_cast<std::size_t>(k), i));
    }
    writer.write(builder.encode());
  }
  writer.close();
  const auto sums = [](const ColumnBatch& batch) {
    const auto ids = batch.column("ids").values<std::int64_t>();
    std::vector<std::int64_t> shown(ids.begin(), ids.end());
    if (const Column* const tokens = batch.find("tokens")) {
      for (const std::int64_t split : tokens->row_splits(1)) shown.push_back(split);
      for (const std::int32_t token : tokens->values<std::int32_t>()) shown.push_back(token);
    }
    return shown;
  };
  for (const bool has_tokens : {false, true}) {
    ColumnSchema schema;
    schema.column("ids", DType::int64, {2}).from_feature_list().column("number", DType::int8);
    if (has_tokens) {
      schema.add({.name = "tokens",
                  .dtype = DType::int32,
                  .kind = Column::Kind::ragged,
                  .ragged_levels = 2,
                  .source = ColumnSource::feature_list});
    }
    const auto make = [&](std::int64_t parallelism) {
      return records(file_, {.block_bytes = 4096}) |
             parse_columns(schema, 6, {.parallelism = parallelism}) | map(sums);
    };
    const Stream expected = stream_of(make(1));
    ASSERT_GT(expected.size(), 10U);
    for (const std::int64_t parallelism : {1, 3}) {
      run_source_suite([&] { return make(parallelism); }, expected);
    }
  }
}

TEST_F(ParseColumns, TakesJsonTexts) {
  folder_.write("a.jsonl",
                "{\"id\": 1, \"text\": \"a\"}\n{\"id\": \"x\"}\n{\"text\": \"c\", \"id\": 3}\n");
  const JsonParser parser(ColumnSchema().column("id", DType::int64).bytes("text"));
  for (const std::int64_t parallelism : {1, 2}) {
    auto iterator =
        (lines({folder_.file("a.jsonl")}) | parse_columns(parser, 2, {.parallelism = parallelism}))
            .iterate();
    const Error error = error_of([&] { iterator.next(); });
    EXPECT_THAT(error.message(), HasSubstr("column 'id': '\"x\"' stands where a whole number"));
    EXPECT_THAT(error.file(), HasSubstr("a.jsonl"));
    EXPECT_EQ(error.record(), 1);
    EXPECT_THAT(iterator.next()->column("id").values<std::int64_t>(), ElementsAre(1));
    EXPECT_EQ(iterator.next()->column("text").bytes(0), "c");
    EXPECT_FALSE(iterator.next());
  }
}

}  // namespace
}  // namespace infeed::test
