#include <fmt/format.h>

#include <infeed/pipeline/json_lines.h>
#include <infeed/pipeline/map.h>

#include "matchers.h"
#include "pipeline/suite/stage_suite.h"
#include "records/temporary_files.h"

namespace infeed::test {
namespace {

class JsonLines : public ::testing::Test {
 protected:
  void write(int files, int rows) {
    for (int f = 0, next = 0; f < files; ++f) {
      std::string text;
      for (int i = 0; i < rows; ++i, ++next) {
        text += fmt::format("{{\"id\": {}, \"t\": \"\\n{}\"}}\n", next, next);
      }
      folder_.write(fmt::format("t-{}.jsonl", f), text);
    }
  }
  std::string pattern() const { return folder_.file("t-*.jsonl"); }
  Dataset<std::vector<std::int64_t>> ids(std::int64_t size, JsonLinesSourceOptions options = {}) {
    const auto schema = ColumnSchema().column("id", DType::int64).bytes("t");
    return json_lines(pattern(), schema, size, std::move(options)) |
           map([](const ColumnBatch& batch) {
             const auto values = batch.column("id").values<std::int64_t>();
             return std::vector<std::int64_t>(values.begin(), values.end());
           });
  }

  const TemporaryFolder folder_;
};

TEST_F(JsonLines, PassTheSuite) {
  write(3, 50);
  Stream expected;
  for (std::int64_t begin = 0; begin < 150; begin += 7) {
    std::vector<std::int64_t> ids;
    for (std::int64_t i = begin; i < std::min<std::int64_t>(150, begin + 7); ++i) ids.push_back(i);
    expected.push_back(show(ids));
  }
  run_source_suite([&] { return ids(7); }, expected);
  run_source_suite([&] { return ids(7, {.parallelism = 2}); }, expected);
}

TEST_F(JsonLines, AnErrorTakesTheBatchOfItsLine) {
  write(1, 4);
  folder_.write("t-1.jsonl", "{\"id\": 4, \"t\": \"\"}\n{\"id\": 5}\n{\"id\": 6, \"t\": \"\"}\n");
  const Stream stream = stream_of(ids(2));
  ASSERT_EQ(stream.size(), 4);
  EXPECT_EQ(stream[1], "{2 3}");
  EXPECT_THAT(stream[2], HasSubstr("line 2, column 't': the line has no such member"));
  EXPECT_EQ(stream[3], "{6}");
  const Stream kept = stream_of(ids(2, {.format = {.bad_rows = BadRows::leave_out}}));
  EXPECT_EQ(kept[2], "{4}");
}

TEST_F(JsonLines, InferTheSchema) {
  folder_.write("t-0.jsonl", "{\"a\": {\"b\": [1, 2]}}\n");
  auto iterator = json_lines(pattern(), 10).iterate();
  EXPECT_EQ(iterator.next()->column("a.b").values<std::int64_t>()[1], 2);
}

}  // namespace
}  // namespace infeed::test
