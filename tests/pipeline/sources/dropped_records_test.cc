#include <infeed/infeed.h>
#include <infeed/records/record_index.h>
#include <infeed/records/record_writer.h>

#include "pipeline/sources/value_of_record.h"
#include "pipeline/suite/stage_suite.h"
#include "records/temporary_files.h"
#include "thrown_error.h"

namespace infeed::test {
namespace {

constexpr std::string_view kAdvice =
    ") is dropped: {.damage = DamagePolicy::skip_and_resynchronise} loses only what is damaged";

/// Two files of 1000 records of 24 bytes; one of the first file's is damaged.
class DroppedRecords : public ::testing::Test {
 protected:
  static constexpr std::size_t kRecordBytes = 24;

  DroppedRecords() {
    for (int file = 0; file < 2; ++file) {
      list_.push_back(folder_.file("train-" + std::to_string(file)));
      RecordWriter writer(list_.back());
      for (int i = 0; i < 1000; ++i) {
        const std::string number = std::to_string(1000 * file + i);
        writer.write(std::string(8 - number.size(), '0') + number);
      }
      writer.close();
    }
  }
  void write_index_of(std::size_t file) {
    write_index(index_records(list_[file]), list_[file] + ".index");
  }
  void damage(std::size_t file, std::size_t record) {
    flip_bits(list_[file], record * kRecordBytes + 12);
  }
  Error first_error(const Dataset<Record>& dataset) {
    Iterator<Record> iterator = dataset.iterate();
    return error_of([&] {
      while (iterator.next()) {
      }
    });
  }
  static StageStatistics statistics_of(const Dataset<Record>& dataset) {
    Iterator<Record> iterator = dataset.iterate();
    take_stream(iterator);
    return iterator.statistics().stages.back();
  }

  TemporaryFolder folder_;
  std::vector<std::string> list_;
};

TEST_F(DroppedRecords, AreNamedByTheErrorAndCounted) {
  write_index_of(0);
  damage(0, 750);
  for (const int parallelism : {1, 3}) {
    SCOPED_TRACE(parallelism);
    const auto dataset = records(list_, {.parallelism = parallelism});
    const Error error = first_error(dataset);
    EXPECT_EQ(error.lost(), (Lost{.records = 249, .bytes = 250 * kRecordBytes}));
    EXPECT_THAT(error.message(), HasSubstr("; the rest of the file (249 records (6000 bytes)" +
                                           std::string(kAdvice)));
    EXPECT_THAT(error.what(), HasSubstr("lost with it 249 records (6000 bytes)"));
    EXPECT_EQ(error.record(), 750);
    const StageStatistics statistics = statistics_of(dataset);
    EXPECT_EQ(statistics.elements, 1751);
    EXPECT_EQ(statistics.errors, 1);
    EXPECT_EQ(statistics.count("dropped_records"), 249);
    EXPECT_EQ(statistics.count("dropped_bytes"), 6000);
  }
}

TEST_F(DroppedRecords, CountAgainstTheBudgetOfSkipErrors) {
  write_index_of(0);
  damage(0, 750);
  const auto within = records(list_) | skip_errors({.count_max = 250});
  EXPECT_EQ(stream_of(within).size(), 1750);
  Iterator<Record> beyond = (records(list_) | skip_errors({.count_max = 249})).iterate();
  const Stream stream = take_stream(beyond);
  EXPECT_EQ(elements_of(stream), 750);
  EXPECT_THAT(stream.back(), HasSubstr("skip_errors: 250 of 1000 elements failed, more than is "
                                       "allowed (count_max 249)"));
  Iterator<Record> share = (records(list_) | skip_errors({.share_max = 0.2})).iterate();
  EXPECT_EQ(elements_of(take_stream(share)), 750) << "a quarter of the first 1,000";
}

TEST_F(DroppedRecords, AreBytesWhereNoIndexKnows) {
  damage(0, 750);
  const Error error = first_error(records(list_));
  EXPECT_EQ(error.lost(), (Lost{.bytes = 6000}));
  EXPECT_THAT(error.message(),
              HasSubstr("; the rest of the file (6000 bytes" + std::string(kAdvice)));
  const StageStatistics statistics = statistics_of(records(list_));
  EXPECT_EQ(statistics.count("dropped_records"), 0);
  EXPECT_EQ(statistics.count("dropped_bytes"), 6000);
}

TEST_F(DroppedRecords, BehindTheLastOneThereAreNone) {
  write_index_of(0);
  damage(0, 999);
  const Error error = first_error(records(list_));
  EXPECT_EQ(error.lost(), (Lost{.records = 0, .bytes = kRecordBytes}));
  EXPECT_THAT(error.message(), Not(HasSubstr("dropped")));
}

TEST_F(DroppedRecords, OfAFileThatIsGoneAreUnknown) {
  std::filesystem::remove(list_[0]);
  const Error error = first_error(records(list_));
  EXPECT_EQ(error.code(), ErrorCode::not_found);
  EXPECT_EQ(error.lost(), Lost{});
  EXPECT_THAT(error.message(), Not(HasSubstr("dropped")));
}

TEST_F(DroppedRecords, OfDamagedRangesAreCounted) {
  write_index_of(0);
  damage(0, 10);
  damage(0, 11);
  damage(0, 500);
  damage(1, 3);
  for (const int parallelism : {1, 3}) {
    const StageStatistics statistics = statistics_of(records(
        list_, {.damage = DamagePolicy::skip_and_resynchronise, .parallelism = parallelism}));
    EXPECT_EQ(statistics.errors, 0);
    EXPECT_EQ(statistics.elements, 1996);
    EXPECT_EQ(statistics.count("dropped_records"), 3) << "the second file has no index";
    EXPECT_EQ(statistics.count("dropped_bytes"), 4 * kRecordBytes);
  }
}

TEST_F(DroppedRecords, StandBelowTheTableWhereThereAreAny) {
  const auto table = [&] {
    Iterator<Record> iterator = records(list_).iterate();
    take_stream(iterator);
    return iterator.statistics().table();
  };
  EXPECT_THAT(table(), Not(HasSubstr("dropped")));
  write_index_of(0);
  damage(0, 750);
  EXPECT_THAT(table(), HasSubstr("\ndropped by records: 249 records, 6000 bytes\n"));
  std::filesystem::remove(list_[0] + ".index");
  EXPECT_THAT(table(), HasSubstr("\ndropped by records: 6000 bytes\n"));
}

TEST_F(DroppedRecords, ACheckpointCountsTheirErrorOnce) {
  damage(0, 750);
  const auto dataset = records(list_) | map([](const Record& record) { return record; }) |
                       map([](const Record& record) { return record; });
  Iterator<Record> iterator = dataset.iterate();
  take_stream(iterator);
  EXPECT_EQ(iterator.checkpoint().errors, 1);
  EXPECT_EQ(iterator.statistics().stages.front().errors, 1) << "and each stage that it passes";
}

TEST_F(DroppedRecords, AResumeInFrontOfThemOrBehindIsExact) {
  write_index_of(0);
  damage(0, 750);
  for (const int parallelism : {1, 3}) {
    const auto make = [&] { return records(list_, {.parallelism = parallelism}) | repeat(2); };
    const Stream whole = stream_of(make());
    ASSERT_EQ(whole.size(), 2 * 1751);
    for (const std::size_t at : {749, 750, 751, 752, 1751, 1751 + 750, 1751 + 751}) {
      Iterator<Record> iterator = make().iterate();
      take_stream(iterator, at);
      Iterator<Record> resumed = make().iterate({.resume = iterator.checkpoint()});
      EXPECT_EQ(take_stream(resumed),
                Stream(whole.begin() + static_cast<std::ptrdiff_t>(at), whole.end()));
    }
  }
}

TEST_F(DroppedRecords, AFileCacheKeepsThem) {
  write_index_of(0);
  damage(0, 750);
  const auto make = [&] { return records(list_) | cache({.path = folder_.file("cache")}); };
  const std::string first = first_error(make()).what();
  stream_of(make());
  std::filesystem::remove(list_[0] + ".index");
  EXPECT_EQ(first_error(make()).lost(), (Lost{.records = 249, .bytes = 6000}));
  EXPECT_EQ(first_error(make()).what(), first);
}

}  // namespace
}  // namespace infeed::test
