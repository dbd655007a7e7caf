#include <clicks.pb.h>
#include <string>
#include <vector>

#include <infeed/infeed.h>
#include <infeed/protobuf/message_parser.h>
#include <infeed/records/record_writer.h>

#include "pipeline/suite/stage_suite.h"
#include "records/temporary_files.h"
#include "thrown_error.h"

/// parse_columns of protobuf messages by a descriptor set.
namespace infeed::test {
namespace {

class ParseMessageColumns : public ::testing::Test {
 protected:
  /// Record i has the id i, and i % 4 tokens; every `cut`-th is cut.
  void write(std::int64_t count, std::int64_t cut = 0) {
    RecordWriter writer(file_, {.existing = ExistingFile::replace});
    for (std::int64_t i = 0; i < count; ++i) {
      shop::Click click;
      click.set_id(i + 1);
      click.mutable_user()->set_name("user " + std::to_string(i));
      for (std::int64_t k = 0; k < i % 4; ++k) click.add_tokens(i);
      const std::string bytes = click.SerializeAsString();
      writer.write(cut != 0 && i % cut == 1 ? bytes.substr(0, bytes.size() - 1) : bytes);
    }
    writer.close();
  }

  const MessageType type_{INFEED_TEST_DESCRIPTOR_SET, "shop.Click"};
  const TemporaryFolder folder_;
  const std::string file_ = folder_.file("clicks.tfrecord");
};

TEST_F(ParseMessageColumns, FillsColumns) {
  write(10);
  const MessageParser parser(type_, {"id", "user.name", "tokens"});
  for (const std::int64_t parallelism : {1, 2}) {
    auto iterator =
        (records(file_) | parse_columns(parser, 4, {.parallelism = parallelism})).iterate();
    iterator.next();
    const auto second = iterator.next();
    ASSERT_TRUE(second);
    EXPECT_THAT(second->column("id").values<std::int64_t>(), ElementsAre(5, 6, 7, 8));
    EXPECT_THAT(second->column("tokens").row_splits(0), ElementsAre(0, 0, 1, 3, 6));
    EXPECT_EQ(second->column("user.name").bytes(3), "user 7");
    EXPECT_EQ(iterator.next()->rows(), 2);
    EXPECT_FALSE(iterator.next());
  }
}

TEST_F(ParseMessageColumns, RowsThatFailAreLeftOut) {
  write(9, 3);
  // With places for rows, and without.
  for (const bool has_tokens : {false, true}) {
    std::vector<std::string> fields{"id"};
    if (has_tokens) fields.emplace_back("tokens");
    auto iterator =
        (records(file_) | parse_columns(MessageParser(type_, fields), 9, {.parallelism = 2}))
            .iterate();
    const Error error = error_of([&] { iterator.next(); });
    EXPECT_THAT(std::string(error.message()), HasSubstr("bytes are no shop.Click"));
    EXPECT_THAT(std::string(error.message()), HasSubstr("3 of 9 rows of a batch failed"));
    EXPECT_EQ(error.record(), 1U);
    EXPECT_EQ(error.file(), file_);
    EXPECT_THAT(iterator.next()->column("id").values<std::int64_t>(),
                ElementsAre(1, 3, 4, 6, 7, 9));
  }
}

TEST_F(ParseMessageColumns, PassesTheSuite) {
  write(50, 7);
  const auto ids = [](const ColumnBatch& batch) {
    const auto values = batch.column("id").values<std::int64_t>();
    return std::vector<std::int64_t>(values.begin(), values.end());
  };
  for (const bool has_name : {false, true}) {
    std::vector<std::string> fields{"id"};
    if (has_name) fields.insert(fields.end(), {"user.name", "tokens"});
    const MessageParser parser(type_, fields);
    const auto make = [&](std::int64_t parallelism) {
      return records(file_, {.block_bytes = 4096}) |
             parse_columns(parser, 6, {.parallelism = parallelism}) | map(ids);
    };
    const Stream expected = stream_of(make(1));
    ASSERT_GT(expected.size(), 10U);
    for (const std::int64_t parallelism : {1, 3}) {
      run_source_suite([&] { return make(parallelism); }, expected);
    }
  }
}

}  // namespace
}  // namespace infeed::test
