#include <fmt/format.h>

#include <infeed/infeed.h>

#include "pipeline/suite/stage_suite.h"
#include "records/temporary_files.h"
#include "thrown_error.h"

namespace infeed::test {
namespace {

class Csv : public ::testing::Test {
 protected:
  /// Files of `rows` rows each, numbered through all files; texts hide line breaks.
  void write(int files, int rows) {
    for (int f = 0; f < files; ++f) {
      std::string text = f % 2 == 0 ? "id,text\n" : "text,other,id\r\n";
      for (int i = 0; i < rows; ++i, ++next_) {
        text += f % 2 == 0 ? fmt::format("{},\"a\n{}\"\n", next_, next_)
                           : fmt::format("t{},,{}\r\n", next_, next_);
      }
      folder_.write(fmt::format("t-{}.csv", f), text);
    }
  }
  std::string pattern() const { return folder_.file("t-*.csv"); }
  /// "{0 1 2}" for a batch.
  Dataset<std::vector<std::int64_t>> ids(std::int64_t size, CsvSourceOptions options = {}) const {
    return csv(pattern(), schema_, size, std::move(options)) | map([](const ColumnBatch& batch) {
             const auto values = batch.column("id").values<std::int64_t>();
             return std::vector<std::int64_t>(values.begin(), values.end());
           });
  }
  static Stream batches(int rows, int size) {
    Stream stream;
    for (int begin = 0; begin < rows; begin += size) {
      std::vector<std::int64_t> ids;
      for (int i = begin; i < std::min(rows, begin + size); ++i) ids.push_back(i);
      stream.push_back(show(ids));
    }
    return stream;
  }

  const TemporaryFolder folder_;
  const ColumnSchema schema_ = ColumnSchema().column("id", DType::int64).bytes("text");
  int next_ = 0;
};

TEST_F(Csv, PassesTheSuite) {
  write(3, 50);
  run_source_suite([&] { return ids(7); }, batches(150, 7));
}

TEST_F(Csv, PassesTheSuiteOnSeveralThreads) {
  write(3, 50);
  run_source_suite([&] { return ids(7, {.parallelism = 2}); }, batches(150, 7));
}

TEST_F(Csv, PassesTheSuiteWithErrors) {
  write(3, 20);
  folder_.write("t-0b.csv", "id,text\n1,a\n2,\"b");    // behind t-0
  folder_.write("t-1b.csv", "name,text\n1,a\n");       // no such column
  folder_.write("t-2b.csv", "id,text\nx,a\n100,b\n");  // shares a batch
  const auto make = [&] { return ids(8, {.parallelism = 2}) | skip_errors(); };
  run_source_suite(make, stream_of(ids(8) | skip_errors()));
  const Stream all = stream_of(ids(8));
  int errors = 0;
  for (const std::string& text : all) errors += text.starts_with("!");
  EXPECT_EQ(errors, 3);
  EXPECT_THAT(all, Contains(HasSubstr("is not closed before the file ends")));
  EXPECT_THAT(all, Contains(HasSubstr("the header has no column 'id'")));
  EXPECT_THAT(all, Contains(HasSubstr("line 2, column 'id': 'x' is no number")));
}

TEST_F(Csv, BatchesCrossFilesAndTheRemainderCanBeDropped) {
  write(2, 5);
  EXPECT_EQ(stream_of(ids(4)), (Stream{"{0 1 2 3}", "{4 5 6 7}", "{8 9}"}));
  EXPECT_EQ(stream_of(ids(4, {.drop_remainder = true})), (Stream{"{0 1 2 3}", "{4 5 6 7}"}));
}

TEST_F(Csv, RowsThatAreLeftOutAreCounted) {
  write(1, 4);
  folder_.write("t-1.csv", "id,text\nx,a\n4,b\ny,c\n5\nz,d\nz,e\n");
  for (const int parallelism : {1, 2}) {
    const CsvSourceOptions options{.format = {.bad_rows = BadRows::leave_out},
                                   .parallelism = parallelism};
    auto iterator = csv(pattern(), schema_, 4, options).iterate();
    EXPECT_EQ(iterator.next()->rows(), 4);
    EXPECT_EQ(iterator.next()->rows(), 1);
    const Error error = error_of([&] { iterator.next(); });
    EXPECT_THAT(error.message(), HasSubstr("none of the 2 rows of this batch can be read"));
    EXPECT_EQ(error.lost()->records, 1) << "with the one that the error stands for";
    EXPECT_EQ(iterator.next(), std::nullopt);
    const PipelineStatistics statistics = iterator.statistics();
    EXPECT_EQ(statistics.stages[0].errors, 1);
    EXPECT_EQ(statistics.stages[0].count("dropped_records"), 4) << "of five bad rows";
    EXPECT_THAT(statistics.table(), HasSubstr("dropped by csv: 4 records\n"));
  }
}

TEST_F(Csv, RowsThatGoWithABadOneAreCounted) {
  folder_.write("t-0.csv", "id,text\n1,a\nx,b\n3,c\n4,d\n");
  auto iterator = csv(pattern(), schema_, 3).iterate();
  const Error error = error_of([&] { iterator.next(); });
  EXPECT_THAT(error.message(), HasSubstr("with it go the other 2 rows of its batch: "));
  EXPECT_EQ(error.lost()->records, 2);
  EXPECT_EQ(iterator.next()->rows(), 1);
  EXPECT_EQ(iterator.next(), std::nullopt);
  EXPECT_EQ(iterator.statistics().stages[0].count("dropped_records"), 2);
}

TEST_F(Csv, InfersTheSchema) {
  folder_.write("t-0.csv", "a,b\n1,x\n2,y\n");
  auto iterator = csv(pattern(), 10).iterate();
  EXPECT_EQ(iterator.next()->column("a").values<std::int64_t>()[1], 2);
}

TEST_F(Csv, RefusesWhatCannotBe) {
  folder_.write("t-0.csv", "a\n1\n");
  EXPECT_EQ(error_of([&] { csv(folder_.file("none-*"), schema_, 1); }).code(),
            ErrorCode::not_found);
  EXPECT_THAT(error_of([&] { csv(pattern(), schema_, 0); }).message(),
              HasSubstr("csv: the size of a batch is 0; give 1 row or more"));
  EXPECT_THAT(
      error_of([&] { csv(pattern(), ColumnSchema().ragged("a", DType::int8), 1); }).message(),
      HasSubstr("a cell holds one value"));
  auto iterator = csv({folder_.file("gone.csv"), folder_.file("t-0.csv")},
                      ColumnSchema().column("a", DType::int8), 4)
                      .iterate();
  EXPECT_EQ(error_of([&] { iterator.next(); }).code(), ErrorCode::not_found);
  EXPECT_EQ(iterator.next()->rows(), 1);
}

TEST_F(Csv, ACheckpointIsBoundToTheSchema) {
  write(1, 20);
  auto iterator = csv(pattern(), schema_, 4).iterate();
  iterator.next();
  const auto other = csv(pattern(), ColumnSchema().column("id", DType::int32), 4);
  EXPECT_EQ(error_of([&] { other.iterate({.resume = iterator.checkpoint()}); }).code(),
            ErrorCode::failed_precondition);
}

}  // namespace
}  // namespace infeed::test
